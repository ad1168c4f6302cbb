from box import Big, Box, Own

ALL = [Box(flag=True), Big(flag=True), Own()]
