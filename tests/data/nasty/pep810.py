lazy import os
lazy from a import b


def f():
    return os
