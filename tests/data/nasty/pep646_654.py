def f(*args: *Ts): pass


def g():
    try:
        pass
    except* ValueError as e:
        pass


x[*a] = 1
