from box import Big, Box, Own

ALL = [Box(), Big(), Own()]
