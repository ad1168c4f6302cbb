import m

assert m.A().use()[1] == 1 and m.B().make() == 1 and m.C.other() == 1
