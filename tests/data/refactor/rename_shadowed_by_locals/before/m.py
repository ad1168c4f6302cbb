def value():
    return 10


def param(value):
    return value


def local():
    value = 3
    return value


def comprehension():
    return [value for value in (1, 2)]


def outer_iterable():
    return [x for x in [value()]]


def lambdas():
    return (lambda value: value)(4) + (lambda: value())()


def nested():
    def deep():
        return value()
    return deep()


def loop():
    for value in (7,):
        pass
    return value


def caught():
    try:
        raise KeyError(8)
    except KeyError as value:
        return value.args[0]


def matched(x):
    match x:
        case {"a": value}:
            return value
        case [value, *_]:
            return value


def walrus():
    return (value := 9)


def named(**kw):
    return kw["value"] if kw else value()


class Box:
    value = value()

    def get(self):
        return self.value + value() + named(value=1)
