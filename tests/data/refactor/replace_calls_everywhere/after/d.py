from lib import new, old


def go():
    return new.get(1), new.get(2)
