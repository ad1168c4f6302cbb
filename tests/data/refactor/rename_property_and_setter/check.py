import p

assert p.go() == 4
