"""The exercises of notebook 08, each with its judge."""
