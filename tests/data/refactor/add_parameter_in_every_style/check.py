import m

assert m.one() == m.two(1) == m.three(1) == m.four(1) == m.five(1, 2) == m.six(1) == 1
