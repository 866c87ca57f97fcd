"""Lets Slurm place pods. Floor 3."""
