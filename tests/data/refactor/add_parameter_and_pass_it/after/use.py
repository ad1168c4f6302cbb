import cfg
import net
from net import get as fetch
from functools import partial


def go(args):
    return [
        net.get("a", timeout=cfg.t),
        fetch(*args, timeout=cfg.t),
        fetch(
            "b",
            tries=2,  # twice
            timeout=cfg.t,
        ),
        fetch((x for x in "c"), timeout=cfg.t),
        partial(net.get, "d", timeout=cfg.t)(),
        net.get("e", timeout=1),
        net.Client().get("f"),
        fetch(timeout=cfg.t  # nothing
        ) if not args else (net.get)(("g"), timeout=cfg.t)
    ]
