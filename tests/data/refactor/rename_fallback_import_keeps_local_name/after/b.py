try:
    from fast import calculate as compute
except ImportError:
    compute = None


def go():
    return compute(1) if compute else 0
