m = __import__("cafe")

assert getattr(m, "ÿ") == ("ñé", "ñüÿ")
