# coding: euc-jp
x = '日本'


class A:
    y = '語'

    def f(self): return self
