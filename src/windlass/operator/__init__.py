"""The operator: Slurm clusters from custom resources. Each room observes, plans and renders."""
