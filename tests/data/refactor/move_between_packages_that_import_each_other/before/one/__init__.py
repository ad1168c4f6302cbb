from one.a import g
X = 1
