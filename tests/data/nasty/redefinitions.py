def f():
    return 1


x = 1


def f():
    return 2


y = 2


class A:
    def m(self): return 1
    def m(self): return 2


class A:
    def m(self): return 3


class A(A):
    class A:
        def m(self): return 4
    z = 1
