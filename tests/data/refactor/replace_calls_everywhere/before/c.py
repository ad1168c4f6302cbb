def go():
    from lib.old import fetch
    return fetch(1)


def keep():
    from lib.old import fetch
    return fetch(1), fetch
