(x): int
(a.b): int
b[0]: int = 1
()if 0 else(lambda:())


def f():
    return 1
