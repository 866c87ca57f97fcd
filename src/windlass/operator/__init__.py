"""Keeps the daemons of Slurm running on Kubernetes. Floor 3."""
