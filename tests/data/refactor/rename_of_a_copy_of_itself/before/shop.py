class Cart:
    def copy(self):
        return Cart()


def use(cart: Cart):
    other = other.copy()
    return cart.copy(), other
