import acc

assert acc.Account().twice() == 4 and acc.Gold().twice() == 6
assert acc.go(acc.Gold(), set()) == 8
