from pkg.impl import Widget as Widget
