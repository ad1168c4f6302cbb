from a import f

Y = f(2)
del f
