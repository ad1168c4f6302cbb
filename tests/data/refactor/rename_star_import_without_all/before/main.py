from mid import *


def run():
    def inner(helper):
        return helper
    return helper() + inner(5)
