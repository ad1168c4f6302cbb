"""A project's own commands as judges of a tree: run in a copy of it, without keys, within limits.

A command is green when its exit code is 0. What fails without the change, too, is not blamed on
it. Nothing here decides what becomes of a change.
"""

from mak.gates.gates import Gates, Red
from mak.gates.halving import halve

__all__ = ["Gates", "Red", "halve"]
