"""The judge's side of every exercise: one module per notebook (`nb06`) or lab (`l1`).

Each module has one tuple, `EXERCISES`.  No kernel imports from here; a grading sandbox does
not even see these files.
"""
