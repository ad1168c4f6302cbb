# a comment
def g():  # f
    return 1


X = g()
