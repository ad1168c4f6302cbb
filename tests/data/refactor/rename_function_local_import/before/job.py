def run(s):
    from util.text import slug
    def inner():
        return slug(s)
    return inner()


def other(slug):
    import util.text
    return util.text.slug(slug)


class Job:
    from util.text import slug
    name = slug("X")

    def go(self):
        return Job.slug("Y") + self.name
