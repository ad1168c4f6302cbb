def run(s):
    from util.text import slugify
    def inner():
        return slugify(s)
    return inner()


def other(slug):
    import util.text
    return util.text.slugify(slug)


class Job:
    from util.text import slugify as slug
    name = slug("X")

    def go(self):
        return Job.slug("Y") + self.name
