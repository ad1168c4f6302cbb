#!/usr/bin/python3
# -*- coding: iso-8859-15 -*-
# license

def f():
    return '€'
