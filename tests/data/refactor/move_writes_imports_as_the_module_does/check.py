import pkg.a, pkg.b; assert pkg.a.user() == 4; assert (pkg.b.f if hasattr(pkg.b, "f") else pkg.a.f)() == 3
