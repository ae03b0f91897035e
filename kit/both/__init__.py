"""The same scenario on the engine and on a real Kafka, side by side."""
