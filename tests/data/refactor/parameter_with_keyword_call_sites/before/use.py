import net
from net import fetch
from net import fetch as get

args = {"retries": 3}


def run():
    a = 1
    return [
        fetch(a=a),
        net.fetch(retries=2, a=3),
        get(**{"a": 4} if False else {}, a=5),
        fetch(6, **args),
        net.other(a=7),
        net.part(),
        net.lam(a=8),
    ]
