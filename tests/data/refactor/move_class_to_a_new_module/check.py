import use

got = use.go()
assert got[0] == "/n[1]n" and got[1:6] == ["Foo"] * 5, got
