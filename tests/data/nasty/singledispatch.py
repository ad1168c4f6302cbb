from functools import singledispatch


@singledispatch
def show(x):
    return x


@show.register
def _(x: int):
    return 1


@show.register(str)
def _(x):
    return 2


@show.register
def show_list(x: list):
    return 3
