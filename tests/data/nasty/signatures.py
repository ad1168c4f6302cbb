def a(x, /, y: int = 1, *args: str, z, w=2, **kw: 'A') -> dict[str, int]: return {}
async def b(*, x=(1, 2), y=lambda a, b=':': a): return 1
def c(
    x,  # first )
    y='#)',
    *,
    z: 'Literal[":"]' = None,
) -> None:  # trailing
    return None
def d(x=
      1): return x
def e(  ) : pass
def f(x=[i for i in range(3)], *y, **z): pass
def g(self, /): pass
def h(*, k): pass
def i(x: int): '''doc: one'''
