x = 1
<<<<<<< ours
y = 2
=======
y = 3
>>>>>>> theirs
