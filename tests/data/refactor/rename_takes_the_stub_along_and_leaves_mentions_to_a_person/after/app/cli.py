def run(x=1):
    """Run.

    >>> main()
    1
    """
    return x
