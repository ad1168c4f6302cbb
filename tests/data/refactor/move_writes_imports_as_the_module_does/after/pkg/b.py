from pkg.a import helper
from pkg.c import ONE, TWO

THREE = TWO + 1


def f():
    return helper() + ONE
