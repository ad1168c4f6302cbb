class A:
    def run(self, x=1):
        return x

    def start(self, loop):
        loop.add(self.run)


def use(other):
    return other.go(**{})


A().run(x=2)
