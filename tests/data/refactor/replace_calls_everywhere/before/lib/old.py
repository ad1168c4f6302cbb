def fetch(x, deep=False):
    if deep:
        return fetch(x)
    return x
