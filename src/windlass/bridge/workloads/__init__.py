"""From workloads to gangs, one kind a file; `choosing` knows which one a pod belongs to."""
