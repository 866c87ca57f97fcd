"""NodeSet: worker pods that run slurmd."""
