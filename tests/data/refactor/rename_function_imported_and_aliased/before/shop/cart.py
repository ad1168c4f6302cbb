from shop.price import total
from shop.price import total as t, twice


def cost(items, total_weight=1):
    text = f"total: {total(items)!r:>{total([4])}} total"
    return total(items) + t(items) + twice(items), text
