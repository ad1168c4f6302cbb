class Widget:
    kind = "w"

    def clone(self) -> "Widget":
        return Widget()
