ONE = 1
TWO = 2


def f():
    return ONE
