"""The simulated suite: real coordination, modelled agents, one clock for all arms."""
