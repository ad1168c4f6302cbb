from lib.old import fetch


def go():
    return fetch(1) + fetch(x=2, deep=True)
