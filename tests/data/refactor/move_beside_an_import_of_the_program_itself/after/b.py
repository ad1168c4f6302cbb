from a import f


def main():
    return f()
