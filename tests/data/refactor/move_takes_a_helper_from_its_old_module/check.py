import b, use

assert b.Y == use.Z == 2
