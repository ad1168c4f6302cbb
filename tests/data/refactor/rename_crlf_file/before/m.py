# a comment
def f():  # f
    return 1


X = f()
