# -*- coding: latin-1 -*-
é = "ü"; ö = lambda: g(é) + "ÿ"


def g(x): return "ñ" + x


# f é
ÿ = g("é"), ö()
