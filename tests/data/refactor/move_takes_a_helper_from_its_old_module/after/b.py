import sys

from a import K, helper


def f():
    return helper() + K


Y = f()
