import osx

assert osx.RESULT == "here"
