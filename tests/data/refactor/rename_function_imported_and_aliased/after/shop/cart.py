from shop.price import grand_total
from shop.price import grand_total as t, twice


def cost(items, total_weight=1):
    text = f"total: {grand_total(items)!r:>{grand_total([4])}} total"
    return grand_total(items) + t(items) + twice(items), text
