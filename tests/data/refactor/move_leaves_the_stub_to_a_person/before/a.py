def f(x):
    return x


def g():
    return 1
