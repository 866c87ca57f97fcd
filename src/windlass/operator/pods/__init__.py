"""Pods and Services: what the operator makes, and what a user's template changes in it."""
