#!/usr/bin/env python3
import sys


def main():
    return 0


main.x = 1

if __name__ == '__main__':
    sys.exit(main())
