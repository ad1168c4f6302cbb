try:
    from x import one as impl
except ImportError:
    from x import two as impl


def go():
    return impl.f()
