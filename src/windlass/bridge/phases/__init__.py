"""One behaviour, one file; `deciding` has their order."""
