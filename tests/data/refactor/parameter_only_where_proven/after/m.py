class A:
    def go(self, y=1):
        return y

    def start(self, loop):
        loop.add(self.go)


def use(other):
    return other.go(**{})


A().go(y=2)
