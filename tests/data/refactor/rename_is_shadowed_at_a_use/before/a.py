def f():
    return 1


def h(g):
    return f() + g
