def size(x):
    return len(x)


def by_size(words, other):
    assert size is not None
    return sorted(words, key=size), [*map(size, words)], other(x=1), size(x="ab")
