def work(x):
    return x


def go(f):
    return f(1)


def start():
    return go(work), work(x=2)
