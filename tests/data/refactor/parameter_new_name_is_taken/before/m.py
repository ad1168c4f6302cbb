def f(a, c):
    b = a
    return b
