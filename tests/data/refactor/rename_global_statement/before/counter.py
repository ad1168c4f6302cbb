COUNT = 0


def bump():
    global COUNT
    COUNT += 1
    return COUNT


def both():
    global OTHER, COUNT
    COUNT, OTHER = 5, 6
    del OTHER
