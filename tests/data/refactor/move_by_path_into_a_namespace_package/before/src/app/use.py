from .a import f

X = f()
