def f(a, /, c=1, *args, **kw):
    return locals(), a, kw


X = f(1, a=2)
