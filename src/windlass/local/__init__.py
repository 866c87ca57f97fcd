"""A real Kubernetes cluster on one Linux machine, without a container engine. Floor 4.

The flow of `up`: requirements -> binaries, images -> addresses -> network, control plane ->
nodes -> add-ons. Files that end in a noun of data (`addresses`, `node_files`, `control_plane`)
are pure; the ones that touch the machine are `process`, `network`, `cgroups` and `node`.
"""
