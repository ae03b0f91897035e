"""Notebook 07: how logs part, and the rules that make them one again."""
