"""Pictures that several lessons draw: sequences of messages, and frames of replicas."""
