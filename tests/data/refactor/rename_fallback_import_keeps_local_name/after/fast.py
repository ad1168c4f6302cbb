def calculate(x):
    return x + 1
