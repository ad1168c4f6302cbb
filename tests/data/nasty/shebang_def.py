#!/usr/bin/env python
def f():
    pass
