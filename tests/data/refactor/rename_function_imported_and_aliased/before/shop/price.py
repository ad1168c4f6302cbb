"""total() in a docstring stays."""


def total(items):
    """Return the total."""
    # total of all
    return sum(items)


def twice(items):
    return total(items) * 2
