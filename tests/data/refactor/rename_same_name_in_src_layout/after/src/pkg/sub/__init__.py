from ..one import start
from .. import one, two


def all_of():
    return start(), one.start(), two.go(), two.C.go
