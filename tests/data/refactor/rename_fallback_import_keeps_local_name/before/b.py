try:
    from fast import compute
except ImportError:
    compute = None


def go():
    return compute(1) if compute else 0
