import sys

sys.path.insert(0, "src")
from pkg.sub import all_of

assert all_of() == (1, 1, 2, 3)
