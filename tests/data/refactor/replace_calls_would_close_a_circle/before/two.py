import one


def g():
    return one.f()
