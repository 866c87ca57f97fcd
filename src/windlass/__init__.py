"""Windlass: Slurm on Kubernetes.

The rooms of this package are floors of one house; imports point down, never up and never
sideways. `docs/design/0001-layers.md` draws it and import-linter checks it.
"""
