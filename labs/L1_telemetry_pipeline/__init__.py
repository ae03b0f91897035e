"""Lab L1: a telemetry pipeline through bronze, silver and gold tables."""
