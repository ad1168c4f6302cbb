import m

assert m.Y == 1
