import pkg.a
import pkg.a as pa
from pkg import a
from pkg.a import (
    Foo,  # the Foo
    helper,
)
from pkg import F


def go():
    return [
        pkg.a.Foo().path([1]),
        pa.Foo.__name__,
        a.Foo.__name__,
        Foo.__name__,
        F.__name__,
        pkg.Foo.__name__,
        "pkg.a.Foo",
        helper(),
    ]
