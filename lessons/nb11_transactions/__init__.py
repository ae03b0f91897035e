"""Notebook 11: transactions and exactly-once."""
