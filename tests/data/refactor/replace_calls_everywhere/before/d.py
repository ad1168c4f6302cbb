from lib import new, old


def go():
    return old.fetch(1), new.get(2)
