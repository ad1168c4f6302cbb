def f(b, /, c=1, *args, **kw):
    return locals(), b, kw


X = f(1, a=2)
