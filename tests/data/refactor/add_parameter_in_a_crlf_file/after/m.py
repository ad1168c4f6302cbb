def f(
    a,  # é
    b=2,
    timeout=30,
):
    return a


X = f(1)
