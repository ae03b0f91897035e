"""Runs a learner's consumer loop, crashes it after each line, and judges what that did.

    result = lab.crash_test(loop, cluster)

The loop is plain Python with a confluent-kafka consumer.  Each *trial* runs it as an application
in a process of its own, on a topic whose records are known, and ends it with SIGKILL at one
moment: no clean-up, no close, no last commit.  Then the application is restarted, and reads on to
the end.  What the applications did to the outside world is in a journal, and the history checker
compares it with the topic.

    crash_test.py   the doorway: topics, trials, result        result.py    verdict, and as text
    tape.py         what happens in a trial                    drawing.py   and as a picture
    statements.py   the lines after which a crash can come     evidence.py  what a trial has shown
    moments.py      which crash of a line tells most           mistakes.py  what went wrong, and why
    shipping.py     a function on its way to another process   losses.py    … with lost records
    stage.py        the process from which all are forked      repeats.py   … with repeated ones
    trial.py        starts, restarts and ends applications     judging.py   for exercises
    application.py  one application: the loop, traced and crashed
    watched.py      its consumer
    effects.py      its effects on the outside world
    writing.py      its producer, where its effects are records in another topic
    results.py      what these records are worth in the end, for readers of both levels
    journal.py      what it noted, which outlives it
"""
