from zoo import Animal, Dog
import zoo


class Cow(zoo.Animal):
    pass


def count():
    Dog()
    Cow()
    return isinstance(Cow(), Animal), Animal.Animal_count, Animal.Inner().up()
