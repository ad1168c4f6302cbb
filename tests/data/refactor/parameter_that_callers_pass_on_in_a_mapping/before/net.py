class Session:
    def request(self, method, url, timeout=None):
        return method, url, timeout

    def get(self, url, **kwargs):
        return self.request("GET", url, **kwargs)


def get(url, **kwargs):
    return Session().request("GET", url, **kwargs)


def use():
    return Session().get("x", timeout=3), get("y", timeout=4)
