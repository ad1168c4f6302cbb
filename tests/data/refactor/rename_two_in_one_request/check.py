import b

assert b.X == 2
