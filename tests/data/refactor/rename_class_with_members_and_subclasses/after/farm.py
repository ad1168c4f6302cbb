from zoo import Creature, Dog
import zoo


class Cow(zoo.Creature):
    pass


def count():
    Dog()
    Cow()
    return isinstance(Cow(), Creature), Creature.Animal_count, Creature.Inner().up()
