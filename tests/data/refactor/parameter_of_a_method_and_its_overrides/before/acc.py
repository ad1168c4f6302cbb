class Account:
    def add(self, x, *, note=""):
        return x + len(note)

    def twice(self):
        return self.add(x=1) + self.add(2, note="n")


class Gold(Account):
    def add(self, x, *, note=""):
        return super().add(x=x * 2)


def go(a: Account, things):
    things.add(3)
    return a.add(x=4)
