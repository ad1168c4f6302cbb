def f():
    return '''open
