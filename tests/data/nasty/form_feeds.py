import os

def f():
    return 1

# section
def g():
        return 2

