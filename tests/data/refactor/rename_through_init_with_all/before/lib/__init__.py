from .core import load, save
from .core import load as fetch

__all__ = [
    "load",  # load it
    "save",
]
