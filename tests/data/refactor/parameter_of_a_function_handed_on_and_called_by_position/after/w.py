def work(n):
    return n


def go(f):
    return f(1)


def start():
    return go(work), work(n=2)
