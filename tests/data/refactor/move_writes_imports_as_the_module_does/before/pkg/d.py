from .c import TWO

FOUR = TWO * 2
