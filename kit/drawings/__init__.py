"""Pictures that several lessons draw: sequences of messages, frames of replicas, cases."""
