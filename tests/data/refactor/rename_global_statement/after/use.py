import counter


def run():
    counter.bump()
    counter.TOTAL = counter.TOTAL + 10
    return counter.TOTAL
