"""Notebook 09: how the members of a group share partitions, and what it costs to change that."""
