"""Notebook 07: how logs diverge, and the rules that make them equal again."""
