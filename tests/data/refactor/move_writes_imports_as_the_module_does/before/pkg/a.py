from .c import ONE
from . import c


def helper():
    return c.TWO


def f():
    return helper() + ONE


def used():
    return 3


def user():
    return used() + ONE
