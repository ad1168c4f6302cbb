import shop.price
import shop.price as price
from shop import price as p
from . import price as q
from .price import total


def lines(items):
    return [shop.price.total(items), price.total(items), p.total(items), q.total(items), total(items)]
