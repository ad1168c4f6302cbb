import osx

assert osx.RESULT == 3
