from .b import TWO


def g():
    return TWO
