from pkg.a import ONE


def f():
    return ONE


def g():
    return f()
