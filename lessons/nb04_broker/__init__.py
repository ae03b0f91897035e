"""Notebook 04: one produce and one fetch request inside a broker, stage by stage."""
