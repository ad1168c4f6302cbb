b = 1


def f(a):
    return a + b
