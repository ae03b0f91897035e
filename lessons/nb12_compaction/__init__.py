"""Notebook 12: retention and compaction."""
