"""What the operator sees of Slurm: one copy of its nodes for each Controller with a RestApi."""
