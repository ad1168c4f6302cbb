from box import Big, Box, Named


def go():
    return [Box(size=1).size, Big(size=2).twice().size, Named(name="x", size=3).size,
            Box.make().grown().size]
