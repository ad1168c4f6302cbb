class Account:
    def add(self, x):
        return x


def go(things):
    return things.add(x=3)
