import os


class A:
    x = 1

    def f(self):
        '''a
        b'''
        return os
