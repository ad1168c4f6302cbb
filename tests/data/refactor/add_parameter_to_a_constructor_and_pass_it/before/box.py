class Box:
    def __init__(self):
        self.size = 1


class Big(Box):
    pass


class Own(Box):
    def __init__(self):
        super().__init__()
