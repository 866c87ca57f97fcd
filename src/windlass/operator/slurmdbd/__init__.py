"""Accounting: slurmdbd before a database, in the cluster or outside."""
