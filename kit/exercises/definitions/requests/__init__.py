"""Exercises of notebook 04: what a broker does with one request."""
