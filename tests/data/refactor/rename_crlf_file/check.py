import m

assert m.X == 1
