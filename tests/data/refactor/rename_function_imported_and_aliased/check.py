from shop.cart import cost
from shop.report import lines

assert cost([1, 2]) == (12, "total:    3 total")
assert lines([1, 2]) == [3] * 5
