class A: pass
class B(A): '''doc'''
class C: ...
def f(): pass
async def g(): return 1
if f: x = 1
else: x = 2
for i in (): pass
class D:
    def m(self): pass
    def n(self): ...
    x = 1
