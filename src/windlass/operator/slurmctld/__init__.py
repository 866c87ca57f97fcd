"""slurmctld: the Controller, its configuration, keys, pod and Services."""
