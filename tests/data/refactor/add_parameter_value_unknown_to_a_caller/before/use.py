import net

X = net.get(1)
