def one(timeout=30):
    return 1


def two(a, b=2, timeout: int = 30) -> int:  # comment
    return a


def three(
    a,
    b=2,  # the b
    timeout=30,
):
    return a


def four(
    a,
    b=2,  # the b
    timeout=None
):
    return a


def five(a, *args, b=1, timeout=30, **kw): return a


def six(
    a,
    timeout=30,
    **kw,
):
    return a


async def seven(a=lambda x, y: (x, y), /, timeout=(1, "x,)")): return a


class C:
    @staticmethod
    def eight(a, *, b: "dict[str, int]" = {}, timeout=30): return a


eight = C.eight
