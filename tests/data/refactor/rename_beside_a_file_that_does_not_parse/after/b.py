from a import g

X = g()
