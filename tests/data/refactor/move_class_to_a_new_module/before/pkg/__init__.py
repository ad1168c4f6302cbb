from .a import Foo, helper
from .a import Foo as F
