x = '''
def not_a_def():
    pass
'''


def f():
    '''Doc
# not a comment

def nor_a_def(): pass
    '''
    return """
# comment? """


class A(tuple('''
# base'''.split())):
    y = 1


def g():
    return r'''\\'''
