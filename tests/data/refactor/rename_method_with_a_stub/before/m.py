class C:
    def go(self, x):
        """Go: `x` and :meth:`C.go`."""
        return x


C().go(1)
