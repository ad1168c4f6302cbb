K = 1


def helper():
    return K
