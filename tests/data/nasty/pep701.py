x = f"{a["b"]}"


def f(d):
    return f'{
        d['x']  # comment
    }' f"{'\n'.join(d)}"


class A:
    y = f"{f"{f"{1}"}"}"

    def g(self): return 1
