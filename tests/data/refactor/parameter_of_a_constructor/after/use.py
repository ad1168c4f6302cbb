from box import Big, Box, Named


def go():
    return [Box(width=1).size, Big(width=2).twice().size, Named(name="x", size=3).size,
            Box.make().grown().size]
