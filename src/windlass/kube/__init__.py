"""What Kubernetes is; knows nothing of Slurm. Floor 1.

To talk: `access.in_cluster` or `kubeconfig.load` give an Access, `client.Client` takes it; `kinds`
and `requests` say what to ask, `objects` (or any struct with a `meta.Meta`) what comes back, and
`errors` what may be raised. To keep a copy: `watch.Watched` says of what, `reflector.Mirror` keeps
its `store.Store`s. To write: `applying.apply_if_different` sends only what changes something,
`guard.Guarded` only while it may.

To run: `waking.waking` turns changes into keys of a `queue.Queue`, `controller.Controller` works on
them, `leader.Elector` over `leases.ClientLeases` says who may, and a `manager.Manager` starts and
stops it all. `docs/howto/write-a-controller.md` shows them together.
"""
