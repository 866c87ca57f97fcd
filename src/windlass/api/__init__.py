"""The custom resources: their types, names, labels, validation and definitions. Pure."""
