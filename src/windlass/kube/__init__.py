"""What Kubernetes is; knows nothing of Slurm. Floor 1.

To talk: `access.in_cluster` or `kubeconfig.load` give an Access, `client.Client` takes it; `kinds`
and `requests` say what to ask, `objects` (or any struct with a `meta.Meta`) what comes back, and
`errors` what may be raised. To keep a copy: `watch.Watched` says of what, `reflector.Mirror` keeps
its `store.Store`s. To write: `apply.differences` tells first whether anything would change.
"""
