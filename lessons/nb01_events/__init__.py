"""Notebook 01: events and publish/subscribe."""
