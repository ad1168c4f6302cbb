def go():
    return 2


class C:
    go = 3

    def m(self, go=4):
        return go
