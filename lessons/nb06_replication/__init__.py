"""Notebook 06: which replicas must have a record before its producer hears that it is safe."""
