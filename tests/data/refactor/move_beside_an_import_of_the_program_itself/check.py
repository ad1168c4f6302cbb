import c
assert c.use() == 2
