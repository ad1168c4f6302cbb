from a import g, k

X = g() + k()
