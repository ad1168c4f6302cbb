import plug


def go():
    return getattr(plug, "run", None), globals().get("run"), "run"
