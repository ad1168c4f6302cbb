def f():
    return 1


def helper():
    return 2


if __name__ == "__main__":
    import b

    b.main()
