import m

assert m.param(1) == 1 and m.local() == 3 and m.comprehension() == [1, 2]
assert m.outer_iterable() == [10] and m.lambdas() == 14 and m.nested() == 10 and m.loop() == 7
assert m.caught() == 8 and m.matched({"a": 2}) == 2 and m.matched([3]) == 3
assert m.walrus() == 9 and m.named() == 10 and m.Box().get() == 21
