"""Notebook 08: retries, duplicates, order and idempotence."""
