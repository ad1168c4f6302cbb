import lib
from lib import read, fetch
from lib import *


def main():
    return lib.read(1) + read(2) + fetch(3) + lib.core.read(4) + lib.core.other(5) + save(6)
