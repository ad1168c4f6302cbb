import m
