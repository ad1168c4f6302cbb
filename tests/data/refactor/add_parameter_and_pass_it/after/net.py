def get(url, *rest, tries=1, timeout=30):
    if tries > 1:
        return get(url, tries=1, timeout=timeout)
    return url


class Client:
    def get(self, url):
        return url
