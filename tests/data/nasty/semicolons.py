import os; import sys; x = 1
a = 1; b = 2;
class A: x = 1; y = 2


class B:
    '''doc'''; z = 1
    w = 2; v = 3

    def f(self): pass; return 1


def f(): x = 1; return x
y = '''
'''; z = 1
