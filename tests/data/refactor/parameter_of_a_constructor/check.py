import use

assert use.go() == [1, 4, 3, 6]
