class Box:
    def __init__(self, size=1, size2=2):
        self.size = size

    @classmethod
    def make(cls):
        return cls(size=5)

    def grown(self):
        return type(self)(size=self.size + 1)


class Big(Box):
    def twice(self):
        return Big(size=self.size * 2)


class Named(Box):
    def __init__(self, name, size):
        super().__init__(size=size)
        self.name = name
