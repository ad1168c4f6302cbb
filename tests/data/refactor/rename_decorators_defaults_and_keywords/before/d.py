import functools


def wrap(f=None, wrap=None):
    @functools.wraps(f)
    def inner(*args, **kw):
        return f(*args, **kw)
    return inner


@wrap
def one(x=wrap):
    return x is wrap


class C:
    @wrap
    def two(self, *, w=wrap):
        return w(f=one)()


def call(fn=None, **kw):
    return fn(one, wrap=kw.get("wrap"))()


three = call(wrap=wrap, fn=wrap)
