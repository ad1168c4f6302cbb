def f(x):
    return x


def g(x):
    return x


def go():
    return g(g(1)), f
