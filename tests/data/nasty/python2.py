print 'hello'
exec 'x'
