def get(url):
    return url
