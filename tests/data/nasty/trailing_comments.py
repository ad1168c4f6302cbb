def f():
    return 1
    # deeper
        # deepest

# column 0
class A:
    def f(self):
        return 1
        # in f

    # in A, before g
    def g(self):
        return 2

    # in A, at the end
# after A

x = 1  # beside
    # deeper than x

if x:
    pass
    # in the if

# the end


