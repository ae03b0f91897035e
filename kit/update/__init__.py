"""A new version of the course under a learner's work.

Progress lives outside the course (kit/exercises/progress_file.py), but answers, notes and
changed values are in the notebooks, and a new version brings new notebooks.  This room puts
a learner's cells into them:

    stamps         what a notebook's cells were when the course wrote them
    notebook_file  a notebook on disk
    carry          one notebook: the learner's cells into the new version
    folders        one course folder into another
    clone          the same around a `git pull`
"""
