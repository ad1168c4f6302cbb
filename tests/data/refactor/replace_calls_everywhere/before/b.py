import lib.old
from lib.old import (
    fetch as grab,  # grab
    fetch,
)

again = fetch


def go():
    return grab(1) + lib.old.fetch(2) + again(3)
