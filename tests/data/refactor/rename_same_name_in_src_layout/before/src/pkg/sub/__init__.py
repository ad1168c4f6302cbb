from ..one import go
from .. import one, two


def all_of():
    return go(), one.go(), two.go(), two.C.go
