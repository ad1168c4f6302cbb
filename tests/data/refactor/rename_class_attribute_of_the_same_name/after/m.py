def build():
    return 1


class A:
    make = build

    def use(self):
        return self.make, build()


class B:
    def make(self):
        return build()


class C:
    make = staticmethod(build)
    other = make
