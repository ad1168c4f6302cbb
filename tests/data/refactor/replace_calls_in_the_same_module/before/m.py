def f(x):
    return x


def g(x):
    return x


def go():
    return f(f(1)), f
