def size(word):
    return len(word)


def by_size(words, other):
    assert size is not None
    return sorted(words, key=size), [*map(size, words)], other(x=1), size(word="ab")
