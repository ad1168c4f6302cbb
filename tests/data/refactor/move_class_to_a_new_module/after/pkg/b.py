from __future__ import annotations
import os
import re
from collections import OrderedDict, abc
from . import util
from .util import join as j


# About Foo.
class Foo(OrderedDict):
    """Foo."""

    pattern = re.compile("x")

    def path(self, x: abc.Sequence) -> Foo:
        from .util import deep
        from . import util as u
        return j(os.sep, util.NAME, deep(x), u.NAME)
