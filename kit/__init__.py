"""What a notebook calls: clusters, side-by-side runs, widgets, exercises, grading, shell."""
