x = "ab"
y = """  """  #  
#  comment


def f():
    return ""
