"""What pods cost that Slurm schedules: `python -m bench.bridge`, part of `make bench`.

A real etcd and kube-apiserver with fake nodes by kwok; a real slurmctld and slurmrestd that have
these nodes from the bridge; the real bridge as a process of its own. The floor is measured in the
same run on the same servers: a bare loop that does for each pod one submit, one patch and one
binding, by as many connections as the bridge has workers. Needs root.
"""
