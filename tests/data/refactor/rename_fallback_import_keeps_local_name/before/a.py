try:
    from fast import compute
except ImportError:
    from slow import compute


def go():
    return compute(1)
