"""Turns what Slurm says into metrics. Floor 3."""
