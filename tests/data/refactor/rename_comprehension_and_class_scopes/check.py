import m

assert m.RESULT == (("k", [1], {"k": "k"}), 10, ["k", "k"], {"k": 1}), m.RESULT
