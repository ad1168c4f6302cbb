K = 1


def helper():
    return K


def f():
    return helper() + K
