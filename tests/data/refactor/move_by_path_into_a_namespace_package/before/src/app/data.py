VALUE = 1


def more():
    return 1
