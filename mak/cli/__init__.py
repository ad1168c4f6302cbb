"""A terminal over the kernel: it starts the road and shows it, and decides nothing."""
