import w
assert w.by_size(['abc','d'], lambda x: x)[0] == ['d','abc']
