from . import data
from .data import VALUE


def f():
    from .data import more
    return VALUE + data.VALUE + more()
