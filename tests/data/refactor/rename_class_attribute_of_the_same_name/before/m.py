def make():
    return 1


class A:
    make = make

    def use(self):
        return self.make, make()


class B:
    def make(self):
        return make()


class C:
    make = staticmethod(make)
    other = make
