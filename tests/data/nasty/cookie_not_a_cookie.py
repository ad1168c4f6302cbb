import os
x = 1
# coding: latin-1
y = 2
