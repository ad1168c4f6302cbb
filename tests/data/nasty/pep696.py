class A[T = int]:
    x: T

    def f(self): pass


type B[*Ts = *tuple[int, ...]] = A[*Ts]
