class Account:
    def add(self, amount, *, note=""):
        return amount + len(note)

    def twice(self):
        return self.add(amount=1) + self.add(2, note="n")


class Gold(Account):
    def add(self, amount, *, note=""):
        return super().add(amount=amount * 2)


def go(a: Account, things):
    things.add(3)
    return a.add(amount=4)
