class A:
	def f(self):
	        return 1

        # a comment at the tab's column
	def g(self):
		return 2
