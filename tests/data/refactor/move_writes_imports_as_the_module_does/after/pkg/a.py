from .c import ONE
from . import c
from .d import used


def helper():
    return c.TWO


def user():
    return used() + ONE
