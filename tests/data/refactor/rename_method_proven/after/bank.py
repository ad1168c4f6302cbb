class Account:
    def __init__(self):
        self.sum = 0

    def deposit(self, x):
        self.sum += x
        return self

    def twice(self, x):
        return self.deposit(x).add2(x)

    def add2(self, x):
        return self.deposit(x)

    alias = deposit


class Gold(Account):
    def deposit(self, x):
        return super().deposit(x * 2)


def make():
    account = Account()
    account.deposit(1)
    Account.deposit(account, 1)
    return account


def use(gold: Gold, other: "Account | None" = None):
    gold.deposit(3)
    if other is not None:
        other.deposit(5)
    return {"add"} | {1}


def numbers(xs: set):
    Gold().deposit(1)
    return xs
