"""Studies of MAK that anyone can repeat."""
