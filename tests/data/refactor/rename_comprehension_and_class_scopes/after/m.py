name = "k"


class Table:
    key = name
    keys = [name for _ in range(2)]
    pairs = {key: value for key, value in [(key, 1)]}

    @staticmethod
    def get(key=key):
        return key, [key for key in (1,)], {k: key for k in key}


def outer():
    def inner():
        nonlocal key
        key = 5
        return key
    key = 1
    return inner() + key


RESULT = Table.get(), outer(), Table.keys, Table.pairs
