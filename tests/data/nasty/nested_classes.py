class A:
    class B:
        '''doc'''
        x = 1

        class C:
            def f(self):
                class D:
                    def g(self): pass
                return D
            # end of C
        # end of B

        def h(self): pass
    # end of A

    y = 2
# module


def f():
    class E:
        def m(self): pass
    return E
