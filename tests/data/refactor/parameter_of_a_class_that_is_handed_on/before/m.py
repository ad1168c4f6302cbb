from typing import Generic, TypeVar, Union

T = TypeVar("T")


class C(Generic[T]):
    def __init__(self, x):
        self.x = x

    @classmethod
    def make(cls, x):
        return cls(x=x)


class D(C):
    pass


Either = Union[C, D]


def told(value: "C | None", kind: type[C] = C) -> C:
    if isinstance(value, (C, D)):
        return kind(1)
    try:
        return C.make(x=1)
    except (C, ValueError):
        return C[int](x=2)
