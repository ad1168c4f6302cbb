x = 1 + \
    2

y = 3 \

if x and \
   y: pass
\
z = 4


def f(): \
    return 1


class A: \
    x = 1
