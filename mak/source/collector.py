"""Python's garbage collector, told to wait while many objects come to be and none is garbage."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

#: New objects, less those that went, between two collections of them.
_RARELY = 200_000


@contextmanager
def paused() -> Iterator[None]:
    """Collect nothing while the block runs: a syntax tree would be walked again and again."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


@contextmanager
def at_once() -> Iterator[None]:
    """Collect nothing while the block runs, and count what it leaves as old.

    For a command whose answer is the last that it does: what it knows is not looked through once
    more for garbage before the process ends.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            if not gc.get_freeze_count():  # else somebody keeps frozen what is not ours to thaw
                gc.freeze()
                gc.unfreeze()
            gc.enable()


@contextmanager
def calm() -> Iterator[None]:
    """Collect rarely while the block runs, and never what is there before it.

    A run keeps most of what it makes: facts, nodes and syntax live as long as it does.
    """
    thresholds = gc.get_threshold()
    if thresholds[0] == _RARELY:  # another run in this process does so already
        yield
        return
    gc.freeze()
    gc.set_threshold(_RARELY, *thresholds[1:])
    try:
        yield
    finally:
        gc.set_threshold(*thresholds)
        gc.unfreeze()
