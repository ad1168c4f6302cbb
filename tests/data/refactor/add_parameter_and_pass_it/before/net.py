def get(url, *rest, tries=1):
    if tries > 1:
        return get(url, tries=1)
    return url


class Client:
    def get(self, url):
        return url
