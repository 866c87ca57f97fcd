"""Read-only pages over both systems. Floor 4."""
