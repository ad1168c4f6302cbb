import functools
import threading


def work(x, z=0):
    return x + z


def run(f):
    return f(x=1)


def apply(f, value):
    return f(value)


def twice(f):
    return f(x=1), f(x=2)


TABLE = {"work": work}
LATER = functools.partial(work, z=1)


def each(items):
    return [*map(work, items), apply(work, 1)]


def choose():
    return work


class Holder:
    call = work

    def __init__(self):
        self.kept = work


def use(items):
    run(f=work)
    run(work)
    twice(work)
    LATER(x=2)
    threading.Thread(target=work, kwargs={"x": 1}).start()
    threading.Thread(target=work, args=(1,), kwargs={"z": 1}).start()
    items.register(work)
    return (work if items else run)(x=1)
