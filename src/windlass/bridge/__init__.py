"""Lets Slurm place pods. Floor 3.

Pods become `gang.Gang`s (`workloads`, one file a kind), a gang becomes one external Slurm job
(`submission`) that says whose it is (`marker`), and the nodes that Slurm gives it become places of
pods (`placing`). `admission` says what may enter, `identity` as whom. All of this is pure.
"""
