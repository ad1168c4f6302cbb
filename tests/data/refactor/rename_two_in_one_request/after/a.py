def g():
    return 1


def k():
    return g()
