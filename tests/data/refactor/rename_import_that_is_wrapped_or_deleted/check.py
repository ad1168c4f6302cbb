import b, c, d

assert b.f.__func__(1) == 1 and c.Y == 2 and d.Z == 3 and not hasattr(c, "f")
