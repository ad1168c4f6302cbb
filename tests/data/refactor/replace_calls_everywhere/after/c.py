from lib.new import get


def go():
    from lib.new import get
    return get(1)


def keep():
    from lib.old import fetch
    return get(1), fetch
