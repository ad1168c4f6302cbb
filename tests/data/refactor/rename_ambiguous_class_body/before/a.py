def f():
    return 1


class C:
    if f():
        f = 3
    x = f
