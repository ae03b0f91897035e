"""Notebook 03: how a producer chooses a partition, gathers batches, and sends them."""
