"""The verbs of the command line that look into running clusters. Floor 4."""
