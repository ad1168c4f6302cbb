#!/usr/bin/env python
# license

# section

# about f
def f():
    pass
