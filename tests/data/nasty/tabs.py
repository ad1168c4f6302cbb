class A:
	x = 1

	def f(self):
		return 1

	def g(self):
		if self:
			return 2
