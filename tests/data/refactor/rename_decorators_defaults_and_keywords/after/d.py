import functools


def decorate(f=None, wrap=None):
    @functools.wraps(f)
    def inner(*args, **kw):
        return f(*args, **kw)
    return inner


@decorate
def one(x=decorate):
    return x is decorate


class C:
    @decorate
    def two(self, *, w=decorate):
        return w(f=one)()


def call(fn=None, **kw):
    return fn(one, wrap=kw.get("wrap"))()


three = call(wrap=decorate, fn=decorate)
