"""Lab L2: a driver is killed at a step of a micro-batch, and each sink shows what it promises."""
