# a

   # b
# c
