MAXIMUM: int = 10
PAIR, (LIMITS, *REST) = MAXIMUM, (1, MAXIMUM)


def check(x, limit=MAXIMUM):
    assert x < MAXIMUM, f"{MAXIMUM=}"
    return {MAXIMUM: "LIMIT"}[10]
