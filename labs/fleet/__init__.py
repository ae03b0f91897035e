"""A fleet that reports positions, orders and payments, with trouble, and the truth about it."""
