import lib
from lib import load, fetch
from lib import *


def main():
    return lib.load(1) + load(2) + fetch(3) + lib.core.load(4) + lib.core.other(5) + save(6)
