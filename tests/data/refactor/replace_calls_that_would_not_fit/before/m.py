def f(x, y=1):
    return x


def g(x):
    return x


A = f(1)
B = f(1, y=2)
