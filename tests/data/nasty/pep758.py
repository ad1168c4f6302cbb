def f():
    try:
        pass
    except A, B, C:
        pass


def g():
    return 1
