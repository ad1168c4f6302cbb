import shop.price
import shop.price as price
from shop import price as p
from . import price as q
from .price import grand_total


def lines(items):
    return [shop.price.grand_total(items), price.grand_total(items), p.grand_total(items), q.grand_total(items), grand_total(items)]
