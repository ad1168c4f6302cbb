from typing import overload


def deco(fn):
    return fn


@overload
def f(value: int) -> int: ...
@overload
def f(value: str) -> str: ...
@deco
def f(value):
    return value


Y = f(value=1)
