from pkg import Gadget as W
import pkg


def kinds():
    return W.kind + pkg.Gadget.kind + pkg.Gadget().clone().kind
