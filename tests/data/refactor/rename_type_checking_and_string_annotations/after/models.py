class Account:
    name = "u"
