"""The producer's accumulator in motion: batches that fill, leave in requests, and are stored.

    AccumulatorFilm(producer)          step, scrub and play through what a producer has noted
    AccumulatorTimeline(producer)      the same as one picture: each batch as a bar over time

Both take a `kit.probes.own_producer.OwnProducer` after its run.  Every position comes from the
producer's own notes, so the picture shows what happened and has no clock of its own.
"""

from kit.drawings.accumulator.film import AccumulatorFilm
from kit.drawings.accumulator.timeline import AccumulatorTimeline

__all__ = ["AccumulatorFilm", "AccumulatorTimeline"]
