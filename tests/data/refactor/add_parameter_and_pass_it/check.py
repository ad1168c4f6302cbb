import net

net.get("x")
