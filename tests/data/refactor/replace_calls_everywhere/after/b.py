import lib.old
from lib.new import get
from lib.old import (
    fetch,
)

again = fetch


def go():
    return get(1) + get(2) + get(3)
