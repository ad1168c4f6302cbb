from .core import read, save
from .core import read as fetch

__all__ = [
    "read",  # load it
    "save",
]
