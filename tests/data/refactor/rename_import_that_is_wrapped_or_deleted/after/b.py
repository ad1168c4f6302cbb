from a import g as f

f = staticmethod(f)
