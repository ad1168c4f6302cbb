import m as mm

X = mm.g(3)
