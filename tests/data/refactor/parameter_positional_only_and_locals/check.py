import m

assert m.X[1:] == (1, {"a": 2})
