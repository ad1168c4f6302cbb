import shop.prices
import star
from star import price


def go():
    import m
    return shop.prices.price(4) + price(1) + star.price(2)
