"""A query that begins with a new checkpoint is another query, and loses nothing by that.

Its micro-batches have the numbers of the old query's.  A sink that remembers a number has to
remember whose it is.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from kit.clusters.interface import Cluster
from labs.crash.driver import ends, place_of
from labs.crash.payments import Feed
from labs.crash.sinks import READERS, SINKS

pytestmark = [pytest.mark.spark, pytest.mark.timeout(600)]

FEED = Feed(topic="crash.again", seed=12)
READER = next(each for each in READERS if each.title.endswith("read_committed"))


@pytest.mark.full
def test_the_transactional_sink_writes_all_again_after_a_new_checkpoint(
    spark: Any, engine_cluster: Cluster, tmp_path: Path
) -> None:
    FEED.create(engine_cluster)
    FEED.produce(engine_cluster)
    truth = len(FEED.event_ids())
    place = place_of(tmp_path / "again", engine_cluster.bootstrap, "transactional")
    engine_cluster.create_topic(place.topic, partitions=FEED.partitions)
    found = []
    for _ in range(2):
        ends(SINKS["transactional"].start(FEED.stream(spark, engine_cluster.bootstrap), place))
        found.append(len(READER.event_ids(spark, place)))
        shutil.rmtree(place.checkpoint)
    assert found == [truth, 2 * truth], "the second query wrote nothing"
