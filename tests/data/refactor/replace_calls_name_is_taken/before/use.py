from one import f


def go(g):
    return f() + g
