def work(x):
    return x


def go(f):
    return f(x=1)


TABLE = {"w": work}


class Button:
    def __init__(self, pressed):
        self.pressed = pressed

    def press(self):
        return self.pressed(x=2)

    def paint(self, x):
        return x


def look(x):
    return TABLE["w"](x=x), go(work), Button(work).paint(x=3), dict(x=4)
