# coding: cp1252
x = '€'


def f(): return '…'
