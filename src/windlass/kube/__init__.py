"""What Kubernetes is; knows nothing of Slurm. Floor 1."""
