import b

assert b.X == 1
