"""Notebook 05: the control plane."""
