from m import *
from shop.prices import price


def go():
    return price(3) + other(1)
