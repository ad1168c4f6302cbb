def f(**options):
    return options


def use(**more):
    return f(t=1), f(**more), f(u=1)
