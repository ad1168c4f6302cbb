import unittest


class Case(unittest.TestCase):
    def check(self):
        return 1

    def test(self):
        self.check()
