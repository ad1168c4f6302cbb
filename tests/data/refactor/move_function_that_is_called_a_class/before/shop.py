def net():
    return 1
