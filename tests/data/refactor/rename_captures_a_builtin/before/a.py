def f(x):
    return 1


def size(x):
    return len(x) + f(x)
