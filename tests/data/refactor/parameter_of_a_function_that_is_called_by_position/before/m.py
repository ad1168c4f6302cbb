import functools
import threading
from collections.abc import Callable


def work(x, z=0):
    return x + z


def apply(f: Callable[..., int], value):
    again = f
    if not callable(f) or f is None:
        raise TypeError(f"{f} of {f.__name__}")
    return again(value)


class Runner:
    def __init__(self, call=work):
        call(1, z=2)

    def go(self, value, call):
        return sorted([value], key=call)


FIRST = functools.partial(work, 1)


def use(items):
    later = functools.partial(work, z=3)
    for step in (work, len):
        step(items[0]) if step is work else None
    items.sort(key=work)
    threading.Thread(target=work, args=(1,), kwargs={"z": 1}).start()
    return [
        *map(work, items),
        apply(work, 1),
        apply(f=work, value=1),
        Runner(work).go(2, call=work),
        later(4),
        FIRST(z=2),
        work(x=1),
        functools.partial(work, x=5)(z=6),
    ]


assert use([1]) == [1, 1, 1, [2], 7, 3, 1, 11]
