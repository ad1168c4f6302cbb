from a import f

Z = f()
