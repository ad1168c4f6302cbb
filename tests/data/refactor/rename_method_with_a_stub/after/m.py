class C:
    def run(self, x, k: int = 1):
        """Go: `x` and :meth:`C.go`."""
        return x


C().run(1)
