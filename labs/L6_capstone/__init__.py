"""Lab L6: from an empty folder to a pipeline that keeps its contract while things break."""
