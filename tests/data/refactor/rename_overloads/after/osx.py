from typing import overload


@overload
def choose(x: int) -> int: ...
@overload
def choose(x: str) -> str: ...
def choose(x):
    return x


RESULT = choose(3)
