from b import f

Z = f()
