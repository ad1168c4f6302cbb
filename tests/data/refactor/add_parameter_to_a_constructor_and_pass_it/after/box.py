class Box:
    def __init__(self, flag=False):
        self.size = 1


class Big(Box):
    pass


class Own(Box):
    def __init__(self):
        super().__init__(flag=True)
