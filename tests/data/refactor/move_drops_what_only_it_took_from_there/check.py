import pkg.a; assert pkg.a.g() == 2
