from a import g

Y = g(2)
del g
