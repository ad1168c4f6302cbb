import counter


def run():
    counter.bump()
    counter.COUNT = counter.COUNT + 10
    return counter.COUNT
