"""The interactive app: a prompt for tasks and slash commands, over the same kernel as ``mak run``.

Nothing of it is full-screen: what was said scrolls up and stays.
"""
