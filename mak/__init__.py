"""MAK, the Multi-Agent Kernel: several coding agents edit one Python repository at once."""

__version__ = "0.1.0"
