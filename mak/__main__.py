"""``python -m mak``."""

from mak.cli.main import script

if __name__ == "__main__":
    script()
