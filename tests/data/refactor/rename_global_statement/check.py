import use

assert use.run() == 11
assert use.run() == 22
