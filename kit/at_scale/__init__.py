"""At scale: long offline work as Spark tasks, with the results that the local run gives.

    kafkalab grade --spark       a class: a submission is a task      grading.py
    kafkalab campaign --spark    fault schedules: some seeds a task   campaign.py

`tasks.py` spreads the work and hands back each result as soon as its task has ended; `page.py`
draws what was spread where.  `SPARK_MASTER` says where the tasks run (kit/spark.py).  A worker on
another machine needs this course at the same path, its Python environment and, for grading,
bubblewrap; nothing else is shared: answers go out with the task, marks come back with its end.
"""
