"""Module a."""
from __future__ import annotations

import os
import re, sys
from collections import OrderedDict, abc  # both

from . import util
from .util import join as j

__all__ = ["Foo", "helper"]


# About Foo.
class Foo(OrderedDict):
    """Foo."""

    pattern = re.compile("x")

    def path(self, x: abc.Sequence) -> Foo:
        from .util import deep
        from . import util as u
        return j(os.sep, util.NAME, deep(x), u.NAME)


def helper():
    return sys.platform
