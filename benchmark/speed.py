def measure(folder, repeat):
    pass
