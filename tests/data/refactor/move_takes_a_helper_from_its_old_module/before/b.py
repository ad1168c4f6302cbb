import sys
from a import f

Y = f()
