import pkg.a
import pkg.a as pa
from pkg import a
from pkg.b import Foo
from pkg.a import (
    helper,
)
from pkg import F
import pkg.b


def go():
    return [
        pkg.b.Foo().path([1]),
        Foo.__name__,
        Foo.__name__,
        Foo.__name__,
        F.__name__,
        pkg.Foo.__name__,
        "pkg.a.Foo",
        helper(),
    ]
