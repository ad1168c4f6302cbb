import functools

ALL = {}


def loud(fn):
    @functools.wraps(fn)
    def inner(*args, **kwargs):
        print(fn.__name__)
        return fn(*args, **kwargs)

    return inner


def named(name):
    def add(fn):
        ALL[name] = fn
        return fn

    return add


@loud
def kept(x):
    return x


@functools.lru_cache(maxsize=None)
def wrapped(x):
    return x


@named("listed")
def listed(x):
    return x
