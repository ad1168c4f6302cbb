import threading


def work(x):
    return x


def run(f, **given):
    return f(**given)


def start():
    threading.Thread(target=work, kwargs={"x": 1}).start()
    return run(work, x=1)
