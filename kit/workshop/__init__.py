"""A page for the teacher of a workshop: who is stuck where.

    room      who takes part, under which alias, and how far; plain data
    server    the page and the reports, over HTTP, with limits
    page      what the teacher's browser shows
    member    the learner's side: joins a room, and reports after a check

Nothing of it is on until a teacher opens a room and a learner joins it.  A report holds an
exercise's number, attempts, hints and whether it is solved; there are no names and no answers.
The room is in memory alone and ends by itself.
"""
