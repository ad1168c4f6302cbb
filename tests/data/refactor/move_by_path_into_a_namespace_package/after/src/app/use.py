from .deep.b import f

X = f()
