class Account:
    def __init__(self):
        self.sum = 0

    def add(self, x):
        self.sum += x
        return self

    def twice(self, x):
        return self.add(x).add2(x)

    def add2(self, x):
        return self.add(x)

    alias = add


class Gold(Account):
    def add(self, x):
        return super().add(x * 2)


def make():
    account = Account()
    account.add(1)
    Account.add(account, 1)
    return account


def use(gold: Gold, other: "Account | None" = None):
    gold.add(3)
    if other is not None:
        other.add(5)
    return {"add"} | {1}


def numbers(xs: set):
    Gold().add(1)
    return xs
