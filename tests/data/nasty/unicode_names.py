ſ = 1


def ﬁ():
    return ſ


class Ünïcode:
    def méthode(self): pass


变量 = 2
