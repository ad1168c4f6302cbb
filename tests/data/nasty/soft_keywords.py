match = case = type = _ = 1
match(case)
match[0]: int
print(type)


def match(): pass


class type: pass
