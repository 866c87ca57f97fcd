"""One behaviour, one file: pure functions from a pass to what they add to it."""
