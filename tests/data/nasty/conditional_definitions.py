import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from a import b
else:
    b = None

try:
    import json
except ImportError:
    json = None

if sys.version_info > (3,):
    def f():
        return 1
    class A:
        x = 1
elif sys:
    def f():
        return 2
else:
    with open('x') as h:
        def g():
            return h

try:
    def k(): pass
except (ValueError, TypeError) as e:
    v = e
finally:
    w: int = 1

for i, (j, *l) in []:
    def loop(): pass
while (n := 1) > 2:
    o = 1
match sys:
    case {'a': p, **q}: pass
    case [r, *s] | (r, s): t = 1
    case object(x=u) as uu: pass


class C:
    if True:
        def m(self): pass
    else:
        m = None
    try:
        y = 1
    except Exception:
        y = 2
