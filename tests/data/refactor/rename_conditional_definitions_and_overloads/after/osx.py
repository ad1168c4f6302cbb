import sys
from typing import overload

if sys.platform == "never":
    def locate():
        return "never"
else:
    def locate():
        return "here"


@overload
def pick(x: int) -> int: ...
@overload
def pick(x: str) -> str: ...
def pick(x):
    return x


RESULT = locate()
