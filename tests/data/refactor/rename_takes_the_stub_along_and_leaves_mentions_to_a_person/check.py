import app.cli

assert app.cli
