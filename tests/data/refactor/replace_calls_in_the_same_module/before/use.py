import m as mm

X = mm.f(3)
