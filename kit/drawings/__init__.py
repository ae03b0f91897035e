"""Pictures that several lessons draw: charts, sequences of messages, frames of replicas."""
