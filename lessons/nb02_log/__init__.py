"""Notebook 02: topics, partitions, and the log as bytes on a disk."""
