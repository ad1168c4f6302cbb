import w
assert w.start() == (1, 2)
