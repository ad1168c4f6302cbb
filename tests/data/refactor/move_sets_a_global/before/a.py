N = 0


def f():
    global N
    N += 1
