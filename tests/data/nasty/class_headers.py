class A(
    object,  # why
    # and
):
    # about x
    x = 1


class B(A, metaclass=type, **{}):


    # far below

    def f(self): pass


class C(A): # doc?
    # comment first
    '''doc'''
    # after doc
    z = 1


class D(A,
        B): pass


class E:
    '''doc''' 'more'


class F:
    ('doc')
    def f(self): ...
