from .b import ONE, TWO


def f():
    return ONE


def g():
    return TWO
