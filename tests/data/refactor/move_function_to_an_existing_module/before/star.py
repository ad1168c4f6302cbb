from m import *


def go():
    return price(3) + other(1)
