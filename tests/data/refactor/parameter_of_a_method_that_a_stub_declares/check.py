import a
assert a.Account().add(1) == 1
