"""MAK, the Multi-Agent Kernel: several coding agents edit one Python repository at once."""

__version__ = "0.1.0"

#: Where the project lives; reports link to its pages.
REPOSITORY = "https://github.com/mak-kernel/mak"
