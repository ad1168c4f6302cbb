# coding: utf-7
x = '+AOk-'
