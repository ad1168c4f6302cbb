from typing import overload


def deco(fn):
    return fn


@overload
def f(x: int) -> int: ...
@overload
def f(x: str) -> str: ...
@deco
def f(x):
    return x


Y = f(x=1)
