from lib.new import get


def go():
    return get(1) + get(x=2, deep=True)
