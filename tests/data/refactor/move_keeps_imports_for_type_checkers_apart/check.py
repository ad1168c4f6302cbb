import a, c; assert a.h(1) == 1
