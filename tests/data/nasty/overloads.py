from typing import overload
import typing as t


@overload
def f(x: int) -> int: ...
@overload
def f(x: str) -> str: ...
def f(x):
    return x


class A:
    @t.overload
    def m(self, x: int) -> int: ...

    @t.overload
    def m(self, x: str) -> str: ...

    def m(self, x): return x
