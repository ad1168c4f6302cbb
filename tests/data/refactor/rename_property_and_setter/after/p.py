class Box:
    def __init__(self):
        self._w = 1

    @property
    def width(self):
        return self._w

    @width.setter
    def width(self, value):
        self._w = value


def go():
    box = Box()
    box.width = 4
    return box.width
