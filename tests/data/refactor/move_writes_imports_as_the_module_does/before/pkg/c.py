ONE = 1
TWO = 2
