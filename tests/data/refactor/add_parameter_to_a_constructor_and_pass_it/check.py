import use

assert [x.size for x in use.ALL] == [1, 1, 1]
