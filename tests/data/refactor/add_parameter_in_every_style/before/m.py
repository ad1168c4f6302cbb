def one():
    return 1


def two(a, b=2) -> int:  # comment
    return a


def three(
    a,
    b=2,  # the b
):
    return a


def four(
    a,
    b=2  # the b
):
    return a


def five(a, *args, b=1, **kw): return a


def six(
    a,
    **kw,
):
    return a


async def seven(a=lambda x, y: (x, y), /): return a


class C:
    @staticmethod
    def eight(a, *, b: "dict[str, int]" = {}): return a


eight = C.eight
