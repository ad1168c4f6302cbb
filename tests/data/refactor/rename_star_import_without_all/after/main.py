from mid import *


def run():
    def inner(helper):
        return helper
    return assist() + inner(5)
