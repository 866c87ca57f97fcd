"""What workers cost: `python -m bench.workers`, part of `make bench`.

A real etcd, kube-apiserver and kube-scheduler with fake nodes by kwok; a real slurmctld and
slurmrestd whose nodes are external and register as their pods become ready; the real operator as a
process of its own. Each row has its floor, measured in the same run on the same servers: the same
pods made and deleted by 16 bare connections, one bare call to slurmrestd. Needs root.

`--workers 10000 --memory` prints the rows of memory alone, without a scheduler and kwok, which take
minutes for every thousand: the bench itself binds each pod and makes it ready.
"""
