def run():
    return 1


TABLE = {"plug.run": run, "run": 2, "x.run": 3}
