import use

r = use.run()
assert [x[0] if isinstance(x, tuple) else x for x in r] == [1, 3, 5, 6, 7, 1, 8], r
