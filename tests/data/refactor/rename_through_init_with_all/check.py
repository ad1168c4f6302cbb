import app

assert app.main() == 21
