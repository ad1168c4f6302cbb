cdef int f(int x):
    return x
