"""RestApi: slurmrestd, Slurm's REST API, before any slurmctld."""
