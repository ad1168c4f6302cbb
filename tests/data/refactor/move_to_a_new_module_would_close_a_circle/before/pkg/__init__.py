from pkg.a import ONE
from pkg.b import f
