from a import f


def main():
    return f()


def helper():
    return 2
