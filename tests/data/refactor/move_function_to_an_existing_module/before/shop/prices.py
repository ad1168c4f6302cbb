"""Prices."""

__all__ = ["base"]


def base():
    return 1


if __name__ == "__main__":
    print(base())
