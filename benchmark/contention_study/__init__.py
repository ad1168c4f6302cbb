"""How often independent changes of real repositories meet, and at which granularity."""
