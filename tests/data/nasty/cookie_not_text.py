# coding: rot13
k = 1
