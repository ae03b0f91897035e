"""Lab L4: partitions and tasks, a hot key, and the same job on more cores."""
