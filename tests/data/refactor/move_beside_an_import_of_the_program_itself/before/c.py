from b import helper


def use():
    return helper()
