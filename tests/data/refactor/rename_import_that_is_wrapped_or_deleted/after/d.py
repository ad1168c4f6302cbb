if True:
    from a import g as f
else:
    def f(x):
        return 0

Z = f(3)
