def f(
    a,  # é
    b=2,
):
    return a


X = f(1)
