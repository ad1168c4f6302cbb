import farm

assert farm.count() == (True, 5, 4)
