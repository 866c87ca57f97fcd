"""What Slurm is; knows nothing of Kubernetes. Floor 1."""
