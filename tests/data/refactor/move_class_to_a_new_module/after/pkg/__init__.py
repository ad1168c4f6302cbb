from .b import Foo
from .a import helper
from .b import Foo as F
