"""Kills Spark at a chosen step of a micro-batch, and counts what each sink has afterwards."""
