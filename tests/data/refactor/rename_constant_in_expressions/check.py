import conf

assert conf.check(1) == "LIMIT" and conf.REST == [10]
