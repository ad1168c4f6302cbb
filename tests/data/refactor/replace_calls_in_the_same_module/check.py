import m, use

assert m.go()[0] == 1 and use.X == 3
