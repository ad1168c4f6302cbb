x = 1  # not a continuation \
y = 2
# nor this \
def f():
    return 1
    # nor that \


def g(): pass
