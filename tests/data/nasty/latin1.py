# -*- coding: latin-1 -*-
"""Señor."""
name = 'éè'


def f():
    return 'ü'
