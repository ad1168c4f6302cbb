import sys

sys.path.insert(0, "src")
from app.use import X

assert X == 3
