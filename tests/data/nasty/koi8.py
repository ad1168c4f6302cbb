#!/usr/bin/env python
# vim: set fileencoding=koi8-r :
text = 'привет'


def f():
    return 'мир'
