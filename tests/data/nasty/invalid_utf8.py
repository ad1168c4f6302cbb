x = 1
# ÿş


def f():
    return 1
