"""The PySpark labs, a folder each, by the pattern of the lessons."""
