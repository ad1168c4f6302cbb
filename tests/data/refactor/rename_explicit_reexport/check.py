import use

assert use.kinds() == "www"
