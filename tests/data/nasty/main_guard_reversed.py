def f(): pass


if '__main__' == __name__:
    f()

x = 1


def g(): pass


if __name__ == "__main__":
    g()
else:
    pass
