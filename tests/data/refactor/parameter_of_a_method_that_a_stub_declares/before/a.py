class Account:
    def add(self, x):
        return x
