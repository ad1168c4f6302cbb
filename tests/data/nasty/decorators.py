import functools


@functools.lru_cache(
    maxsize=None,
)
# between
@(
    lambda f: f
)

@property
def f():
    return 1


class A:
    @(
        # @not_this
        lambda f: f
    )
    def m(self):
        return 1

    # above
    @staticmethod  # beside
    # below
    def s():
        return 2


@A
class B:
    pass
