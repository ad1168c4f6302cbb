# -*- coding: latin-1 -*-
é = "ü"; ö = lambda: f(é) + "ÿ"


def f(x): return "ñ" + x


# f é
ÿ = f("é"), ö()
