"""Composition roots: the only readers of argv and environment. Floor 5."""
