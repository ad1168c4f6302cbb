a, *b = 1, 2
[c, (d, e)] = f = 1, (2, 3)
g.h = i[0] = 1
j: int
k: int = 2
(l): int = 3
m += 1
from x import *
del a
