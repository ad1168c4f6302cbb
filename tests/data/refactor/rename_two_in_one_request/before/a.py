def f():
    return 1


def h():
    return f()
