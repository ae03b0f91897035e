"""Notebook 10: offsets and delivery semantics."""
