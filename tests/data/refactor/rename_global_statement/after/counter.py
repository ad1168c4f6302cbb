TOTAL = 0


def bump():
    global TOTAL
    TOTAL += 1
    return TOTAL


def both():
    global OTHER, TOTAL
    TOTAL, OTHER = 5, 6
    del OTHER
