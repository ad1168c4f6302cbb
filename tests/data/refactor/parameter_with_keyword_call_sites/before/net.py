import functools


def fetch(a, *, retries=1, **kw):
    """Fetch a."""
    def inner():
        return a, [a for _ in range(1)], [a for a in (7,)]
    a = a + 0
    return inner() + (retries, kw)


def other(a):
    return a


part = functools.partial(fetch, a=1)
lam = lambda a: fetch(a=a)
