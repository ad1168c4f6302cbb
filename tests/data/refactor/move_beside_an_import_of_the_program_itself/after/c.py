from a import helper


def use():
    return helper()
