"""The judge's side of notebook 06's exercises, by subject."""
