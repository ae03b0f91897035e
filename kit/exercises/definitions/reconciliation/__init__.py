"""The exercises of notebook 07, a module each."""
