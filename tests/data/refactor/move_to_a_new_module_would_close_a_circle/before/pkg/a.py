import pkg

ONE = 1
