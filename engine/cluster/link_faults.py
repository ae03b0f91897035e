"""Faults of the links of a cluster; engine/cluster/network.py says what each one means.

    cut, cut_one_way, isolate, slow         last until `heal`
    delay, drop, duplicate, strand, reorder  hit the next `count` messages one way, of one
                                            API only if `api` names it (Fetch, Produce, …);
                                            `duplicate` hits requests only

An answer has the API of its request: `drop(cluster, 101, 102, api="Fetch")` loses the next
fetch that 101 sends to 102, or its next answer to a fetch of 102: the first of the two.
"""

from __future__ import annotations

from engine.cluster.cluster import Cluster
from engine.cluster.items import NodeId
from engine.cluster.network import DELAY, DROP, DUPLICATE, REORDER, STRAND, Trouble, Way
from engine.wire import messages


def cut(cluster: Cluster, a: NodeId, b: NodeId) -> None:
    """Cuts the link between two nodes, both ways."""
    cluster.network.cut[a, b] = cluster.network.cut[b, a] = None
    why = f"nothing passes between {a} and {b}"
    cluster.note("cluster.link_faults.cut", a, "cut", why, peer=b)


def cut_one_way(cluster: Cluster, a: NodeId, b: NodeId) -> None:
    """What `a` sends does not reach `b`; what `b` sends reaches `a`."""
    cluster.network.cut[a, b] = None
    why = f"nothing passes from {a} to {b}"
    cluster.note("cluster.link_faults.cut_one_way", a, "cut", why, to=b)


def isolate(cluster: Cluster, node_id: int) -> None:
    """Cuts a node off from every other node; clients still reach it."""
    for other in cluster.spec.nodes:
        if other != node_id:
            cut(cluster, node_id, other)


def slow(cluster: Cluster, a: NodeId, b: NodeId, ms: int) -> None:
    """Delays everything between two nodes by `ms`, each way."""
    cluster.network.delay_us[a, b] = cluster.network.delay_us[b, a] = ms * 1000
    cluster.note("cluster.link_faults.slow", a, "slow", f"{ms} ms between {a} and {b}", peer=b)


def delay(cluster: Cluster, a: NodeId, b: NodeId, ms: int, count: int, api: str) -> None:
    """Delays the next messages from `a` to `b` by `ms`; later ones wait behind them."""
    _add_trouble(cluster, (a, b), Trouble(DELAY, count, ms * 1000), api)
    cluster.note(
        "cluster.link_faults.delay", a, "delay", _next(b, count, api, f"{ms} ms late"), to=b
    )


def drop(cluster: Cluster, a: NodeId, b: NodeId, count: int, api: str) -> None:
    """Loses the next messages from `a` to `b`, each with its connection."""
    _add_trouble(cluster, (a, b), Trouble(DROP, count), api)
    why = _next(b, count, api, "lost, with the connection")
    cluster.note("cluster.link_faults.drop", a, "drop", why, to=b)


def duplicate(cluster: Cluster, a: NodeId, b: NodeId, count: int, api: str) -> None:
    """Delivers the next requests from `a` to `b` twice."""
    _add_trouble(cluster, (a, b), Trouble(DUPLICATE, count), api)
    why = _next(b, count, api, "delivered twice", "request")
    cluster.note("cluster.link_faults.duplicate", a, "duplicate", why, to=b)


def strand(cluster: Cluster, a: NodeId, b: NodeId, ms: int, count: int, api: str) -> None:
    """Breaks the connection under the next requests from `a` to `b`; they arrive `ms` later."""
    _add_trouble(cluster, (a, b), Trouble(STRAND, count, ms * 1000), api)
    why = _next(b, count, api, f"the connection breaks, and it arrives {ms} ms later", "request")
    cluster.note("cluster.link_faults.strand", a, "strand", why, to=b)


def reorder(cluster: Cluster, a: NodeId, b: NodeId, ms: int, count: int, api: str) -> None:
    """Lets messages sent within `ms` afterwards overtake the next ones from `a` to `b`."""
    _add_trouble(cluster, (a, b), Trouble(REORDER, count, ms * 1000), api)
    why = _next(b, count, api, f"overtaken for {ms} ms")
    cluster.note("cluster.link_faults.reorder", a, "reorder", why, to=b)


def _add_trouble(cluster: Cluster, way: Way, trouble: Trouble, api: str) -> None:
    if api:
        if cluster.spec.ensemble:
            from engine.zookeeper.messages import HISTORIC_APIS

            trouble.api_key = HISTORIC_APIS.get(api, 0)
        trouble.api_key = trouble.api_key or getattr(messages, f"{api}Request").API_KEY
    cluster.network.troubles.setdefault(way, []).append(trouble)


def _next(to: NodeId, count: int, api: str, what: str, each: str = "message") -> str:
    messages_of = " ".join(filter(None, (str(count), api, each if count == 1 else f"{each}s")))
    return f"the next {messages_of} to {to}: {what}"


def heal(cluster: Cluster, a: NodeId | None = None, b: NodeId | None = None) -> None:
    """Mends one link, all links of `a`, or all; held messages go on their way."""
    listed: dict[Way, None] = {}
    for way in cluster.network.broken():
        if (a is None or a in way) and (b is None or b in way):
            held = cluster.network.heal(*way)
            first, second = sorted(way, key=str)
            if (first, second) not in listed:
                listed[first, second] = None
                why = f"{first} and {second} reach each other"
                cluster.note("cluster.link_faults.heal", first, "healed", why, peer=second)
            for message in held:
                cluster.calls.transmit(cluster.now, *way, message)
