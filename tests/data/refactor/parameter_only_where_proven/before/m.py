class A:
    def go(self, x=1):
        return x

    def start(self, loop):
        loop.add(self.go)


def use(other):
    return other.go(**{})


A().go(x=2)
