"""Explains what a client's error means on this cluster now: the rule, and what to do.

Clients report errors by code.  A learner wants to know which setting made the broker
refuse, and whether that is a bug or intended: when Kafka refuses a write below
`min.insync.replicas`, it keeps its promise.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Snapshot = Mapping[str, Any]
_DEFAULT_MIN_ISR = "1"


def explain(error: object, snapshot: Snapshot, topic: str = "", partition: int = 0) -> str:
    """One or two sentences about a client's error.

    `error` is confluent-kafka's KafkaError (or an exception that holds one), or the name of
    a code of Kafka's; `topic` and `partition` are where it happened.
    """
    name = code_name(error)
    known = snapshot["topics"].get(topic, {})
    where = known.get("partitions", {}).get(partition)
    match name:
        case "NOT_ENOUGH_REPLICAS" | "NOT_ENOUGH_REPLICAS_AFTER_APPEND":
            return _not_enough(name, known, where, f"{topic}-{partition}")
        case "_MSG_TIMED_OUT" | "REQUEST_TIMED_OUT" | "_TIMED_OUT":
            return (
                f"{name}: no acknowledgement came in time. The record may be in the log, or "
                f"not.{_state(where)} {_refused(known, where)}"
            ).rstrip()
        case "NOT_LEADER_OR_FOLLOWER" | "NOT_LEADER_FOR_PARTITION" | "FENCED_LEADER_EPOCH":
            return (
                f"{name}: the client asked a broker that no longer leads the partition."
                f"{_state(where)} A client with retries asks for fresh metadata and goes on."
            )
        case "LEADER_NOT_AVAILABLE" | "_TRANSPORT" | "_ALL_BROKERS_DOWN":
            return f"{name}: no leader answers.{_state(where)}{_down(snapshot)}"
        case "UNKNOWN_TOPIC_OR_PART" | "_UNKNOWN_TOPIC" | "UNKNOWN_TOPIC_OR_PARTITION":
            return f"{name}: there is no topic {topic} here: create_topic({topic!r}) first."
        case _:
            return f"{name}: {error}"


def code_name(error: object) -> str:
    """`NOT_ENOUGH_REPLICAS`, from any form in which a client reports an error."""
    inner = error.args[0] if isinstance(error, Exception) and error.args else error
    name = getattr(inner, "name", None)
    return str(name() if callable(name) else name or inner)


def _not_enough(name: str, topic: Snapshot, where: Snapshot | None, spelled: str) -> str:
    wanted = topic.get("config", {}).get("min.insync.replicas", _DEFAULT_MIN_ISR)
    in_sync = where["isr"] if where else []
    kept = (
        "the record was written to the leader first, and may still be kept"
        if name.endswith("APPEND")
        else "nothing was written"
    )
    return (
        f"{name}: with acks=all, min.insync.replicas={wanted} asks for {wanted} in-sync replicas, "
        f"and {spelled} has {len(in_sync)} ({_listed(in_sync)}): {kept}. "
        "Start a broker that holds a replica, or lower min.insync.replicas and accept the risk."
    )


def _refused(topic: Snapshot, where: Snapshot | None) -> str:
    """Whether what looks like silence is a refusal that the client's retries hide."""
    wanted = int(topic.get("config", {}).get("min.insync.replicas", _DEFAULT_MIN_ISR))
    if where is None or len(where["isr"]) >= wanted:
        return ""
    return (
        f"The ISR is smaller than min.insync.replicas={wanted}: the broker refuses, and the "
        "client's retries hide it; with retries=0 you see NOT_ENOUGH_REPLICAS."
    )


def _state(where: Snapshot | None) -> str:
    if where is None:
        return ""
    leader = f"leader {where['leader']}" if where["leader"] >= 0 else "no leader"
    return f" The partition has {leader} and the ISR {_listed(where['isr'])}."


def _down(snapshot: Snapshot) -> str:
    down = [b for b, each in snapshot["brokers"].items() if each["state"] != "running"]
    return f" Not running: {_listed(down)}; start one." if down else ""


def _listed(brokers: list[int]) -> str:
    return ", ".join(map(str, brokers)) or "none"
