from pkg.impl import Gadget as Gadget
