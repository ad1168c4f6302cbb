try:
    from fast import calculate as compute
except ImportError:
    from slow import compute


def go():
    return compute(1)
