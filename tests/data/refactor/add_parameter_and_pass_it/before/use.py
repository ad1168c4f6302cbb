import cfg
import net
from net import get as fetch
from functools import partial


def go(args):
    return [
        net.get("a"),
        fetch(*args),
        fetch(
            "b",
            tries=2,  # twice
        ),
        fetch(x for x in "c"),
        partial(net.get, "d")(),
        net.get("e", timeout=1),
        net.Client().get("f"),
        fetch(  # nothing
        ) if not args else (net.get)(("g"))
    ]
