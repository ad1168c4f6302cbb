import functools


def fetch(url, *, retries=1, **kw):
    """Fetch a."""
    def inner():
        return url, [url for _ in range(1)], [a for a in (7,)]
    url = url + 0
    return inner() + (retries, kw)


def other(a):
    return a


part = functools.partial(fetch, url=1)
lam = lambda a: fetch(url=a)
