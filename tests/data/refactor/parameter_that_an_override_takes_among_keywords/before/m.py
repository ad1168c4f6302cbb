class A:
    def go(self, x=1):
        return x


class B(A):
    def go(self, **rest):
        return rest["x"]
