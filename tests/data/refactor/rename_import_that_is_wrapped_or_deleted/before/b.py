from a import f

f = staticmethod(f)
