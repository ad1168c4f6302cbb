if (a := 1) and [b for c in (d := [1])]:
    pass
print(e := 2)
f = [g := 1, (lambda: (h := 1))]
[i := j for j in ()]
