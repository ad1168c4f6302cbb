class Gadget:
    kind = "w"

    def clone(self) -> "Gadget":
        return Gadget()
