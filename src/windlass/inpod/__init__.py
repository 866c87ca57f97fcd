"""Programs that run inside the containers of Slurm's daemons, in images that need not be ours.

Each is one file for Python 3.9 and later with nothing but its standard library: the operator mounts
its text from a ConfigMap.
"""
