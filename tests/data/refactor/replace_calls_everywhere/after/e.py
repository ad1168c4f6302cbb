from lib.new import get as g
import os

X = g(4) + g(5)
