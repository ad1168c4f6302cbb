name = 'x'
y = t"hello {name!r:>{10}}"


def f():
    return t'''
{name}
'''
