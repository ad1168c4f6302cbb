from .core import f
