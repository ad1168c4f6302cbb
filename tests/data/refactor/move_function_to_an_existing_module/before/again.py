import star
from star import price


def go():
    import m
    return m.price(4) + price(1) + star.price(2)
