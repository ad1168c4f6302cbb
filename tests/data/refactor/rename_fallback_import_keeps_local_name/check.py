import a, b, c

assert (a.go(), b.go(), c.go()) == (2, 2, 9)
