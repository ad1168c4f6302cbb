class A:
    @property
    def x(self):
        return self._x

    @x.setter
    def x(self, v):
        self._x = v

    @x.deleter
    def x(self):
        del self._x

    x2 = property(lambda self: 1)

    @x.getter
    def y(self): return 1
