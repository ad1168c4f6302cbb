K = 1


def f():
    return K


def g():
    return f()
