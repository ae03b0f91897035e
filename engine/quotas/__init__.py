"""Quotas: what a client may take of a broker, and what happens when it takes more."""
