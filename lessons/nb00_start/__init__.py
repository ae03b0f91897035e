"""Notebook 00: a cluster, a record, a broker killed."""
