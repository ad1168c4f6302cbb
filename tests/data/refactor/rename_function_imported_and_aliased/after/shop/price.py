"""total() in a docstring stays."""


def grand_total(items):
    """Return the total."""
    # total of all
    return sum(items)


def twice(items):
    return grand_total(items) * 2
