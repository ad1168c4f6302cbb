from lib.new import get as g
from lib.old import fetch; import os

X = fetch(4) + g(5)
