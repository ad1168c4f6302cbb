type Alias[T] = list[T]


class A[T: int, *Ts, **P](Base[T]):
    '''doc'''

    def m[U](self, x: U) -> T:
        return x


def f[T](x: T) -> T:
    return x


x = 1
