from a import compute
from b import compute as other


def go():
    return compute(3) + other(4)
