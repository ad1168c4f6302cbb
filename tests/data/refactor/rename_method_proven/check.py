import bank

assert bank.make().sum == 2
g, a = bank.Gold(), bank.Account()
bank.use(g, a)
assert (g.sum, a.sum) == (6, 5)
assert a.twice(1).sum == 7
