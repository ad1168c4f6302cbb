from pkg import Widget as W
import pkg


def kinds():
    return W.kind + pkg.Widget.kind + pkg.Widget().clone().kind
