class User:
    name = "u"
