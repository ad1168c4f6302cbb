LIMIT: int = 10
PAIR, (LIMITS, *REST) = LIMIT, (1, LIMIT)


def check(x, limit=LIMIT):
    assert x < LIMIT, f"{LIMIT=}"
    return {LIMIT: "LIMIT"}[10]
