import d

assert d.one() and d.C().two() and d.three
