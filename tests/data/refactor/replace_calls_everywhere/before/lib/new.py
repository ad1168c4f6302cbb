from lib.old import fetch


def get(x, **kw):
    return fetch(x, **kw) + 100


def other():
    return fetch(1)
