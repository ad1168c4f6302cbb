class Box:
    def __init__(self):
        self._w = 1

    @property
    def size(self):
        return self._w

    @size.setter
    def size(self, value):
        self._w = value


def go():
    box = Box()
    box.size = 4
    return box.size
