"""safelaunch as a Python package: `python -m safelaunch …` is the program of that name, which is no Python."""
