from .c import TWO

FOUR = TWO * 2


def used():
    return 3
