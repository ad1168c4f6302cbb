if True:
    from a import f
else:
    def f(x):
        return 0

Z = f(3)
