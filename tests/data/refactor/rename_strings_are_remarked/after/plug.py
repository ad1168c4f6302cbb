def execute():
    return 1


TABLE = {"plug.run": execute, "run": 2, "x.run": 3}
