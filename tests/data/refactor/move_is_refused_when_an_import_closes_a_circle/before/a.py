import c


def f():
    return c.X
