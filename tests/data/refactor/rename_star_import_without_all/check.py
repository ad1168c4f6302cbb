import main

assert main.run() == 6
