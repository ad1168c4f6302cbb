from a import f, h

X = f() + h()
