from {{ package }} import x


def f():
    return {{ value }}
