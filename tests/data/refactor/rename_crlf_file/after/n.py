from m import g


print(g())