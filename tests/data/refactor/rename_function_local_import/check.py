import job

assert (job.run("A"), job.other("B"), job.Job().go()) == ("a", "b", "yx")
