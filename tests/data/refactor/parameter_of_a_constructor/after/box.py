class Box:
    def __init__(self, width=1, size2=2):
        self.size = width

    @classmethod
    def make(cls):
        return cls(width=5)

    def grown(self):
        return type(self)(width=self.size + 1)


class Big(Box):
    def twice(self):
        return Big(width=self.size * 2)


class Named(Box):
    def __init__(self, name, size):
        super().__init__(width=size)
        self.name = name
