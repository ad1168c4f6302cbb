'''doc'''
__version__ = '1'
import os
os.environ['A'] = 'b'
import sys


def f():
    import json
    return json


from a import b
import c.d as e
