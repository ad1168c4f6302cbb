import dataclasses


class Animal:
    """An Animal."""

    LEGS = 4
    Animal_count = 0

    def __init__(self):
        Animal.Animal_count += 1

    def legs(self) -> "Animal":
        return self.LEGS

    class Inner:
        def up(self):
            return Animal.LEGS


DEFAULT = Animal()


class Dog(Animal):
    def __init__(self):
        super(Dog, self).__init__()
        Animal.__init__(self)
