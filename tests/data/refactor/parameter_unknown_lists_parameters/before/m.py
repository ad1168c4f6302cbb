def f(a, c):
    return a
