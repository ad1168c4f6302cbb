from a import f
def (:
