"""A topic that has the name of a deleted one is another topic, and keeps none of its promises.

    begins empty    no replica of it holds a record, or a high watermark, of the former one
    heard           what a client heard counts once it can only have been this topic

Brokers hear of a deletion one after the other.  One that has not heard yet still answers for the
former topic, and an answer may be on its way for long.
"""

from __future__ import annotations

from engine.cluster.cluster import Cluster
from engine.cluster.items import NodeId
from engine.replication.partition import Partition
from engine.sim.invariants.books import Books, Violation


def check_empty(books: Books, replica: Partition | None) -> None:
    """A broker has heard who leads: before the first append in this topic there is nothing."""
    if replica is None or not books.is_successor or books.known:
        return
    if replica.log.log_end_offset or replica.high_watermark:
        raise Violation(
            f"deleted: {books.name} on {replica.node_id}: a new topic begins, and its log ends at "
            f"{replica.log.log_end_offset}, its high watermark is {replica.high_watermark}"
        )


def is_heard(books: Books, cluster: Cluster, client: NodeId) -> bool:
    """Whether a client surely speaks of this topic: it knows no other id, and no broker has the
    former one.  Requests from before the last broker gave that up prove nothing."""
    if not books.is_successor:
        return True
    routes = getattr(cluster.nodes.get(client), "routes", None)
    if routes is not None and routes.topic_ids.get(books.key[0]) != books.topic_id:
        return False
    brokers = (cluster.nodes.get(each) for each in cluster.spec.brokers)
    replicas = (each.replicas.partitions.get(books.key) for each in brokers if each is not None)
    is_late = any(each is not None and each.topic_id != books.topic_id for each in replicas)
    if is_late or books.is_late:
        books.is_late, books.unclean_at = is_late, cluster.now
    return not is_late
