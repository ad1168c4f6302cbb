from pkg.c import TWO

THREE = TWO + 1
