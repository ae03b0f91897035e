"""What notebooks and the shell call: clusters, comparisons, widgets, exercises, grading."""
