import b

X = b.Y
