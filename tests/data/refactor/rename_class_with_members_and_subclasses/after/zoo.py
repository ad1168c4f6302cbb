import dataclasses


class Creature:
    """An Animal."""

    LEGS = 4
    Animal_count = 0

    def __init__(self):
        Creature.Animal_count += 1

    def legs(self) -> "Creature":
        return self.LEGS

    class Inner:
        def up(self):
            return Creature.LEGS


DEFAULT = Creature()


class Dog(Creature):
    def __init__(self):
        super(Dog, self).__init__()
        Creature.__init__(self)
