"""A toy with a Cluster's face, for panels under test: it elects at once and never waits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import deepcopy
from typing import Any

BROKERS = (101, 102, 103)
Records = Sequence[tuple[str, int]]


def make_log(
    held: Records, high_watermark: int, role: str = "follower", epochs: Sequence[Any] | None = None
) -> dict[str, Any]:
    """A replica's log as a snapshot tells it; `held` is (value, epoch) by offset."""
    starts = [
        [epoch, offset]
        for offset, (_, epoch) in enumerate(held)
        if offset == 0 or held[offset - 1][1] != epoch
    ]
    return {
        "log_start_offset": 0,
        "log_end_offset": len(held),
        "high_watermark": high_watermark,
        "leader_epoch": held[-1][1] if held else 0,
        "epochs": list(epochs) if epochs is not None else starts,
        "role": role,
        "batches": [
            {"base_offset": offset, "last_offset": offset, "epoch": epoch, "values": [value]}
            for offset, (value, epoch) in enumerate(held)
        ],
    }


def make_partition(
    logs: Mapping[int, dict[str, Any]], leader: int, epoch: int, isr: Sequence[int]
) -> dict[str, Any]:
    return {
        "leader": leader,
        "leader_epoch": epoch,
        "partition_epoch": epoch,
        "isr": list(isr),
        "elr": [],
        "last_known_elr": [],
        "replicas": list(BROKERS),
        "logs": dict(logs),
    }


def make_snapshot(
    partitions: Mapping[int, dict[str, Any]], time_us: int = 0, **states: str
) -> dict[str, Any]:
    """A three-broker snapshot of the topic `orders`; `b101="killed"` sets a broker's state."""
    return {
        "time_us": time_us,
        "controller": {"id": 100, "state": "running", "epoch": 1, "metadata_offset": 9},
        "brokers": {
            broker: {
                "state": states.get(f"b{broker}", "running"),
                "fenced": states.get(f"b{broker}") in ("killed", "stopped"),
                "rack": None,
                "epoch": 1,
                "host": "127.0.0.1",
                "port": 9000 + broker,
            }
            for broker in BROKERS
        },
        "links": [],
        "topics": {
            "orders": {
                "id": "T3BUTpUaT0CCmSBZ0bKXwQ",
                "config": {"min.insync.replicas": "2"},
                "partitions": dict(partitions),
            }
        },
        "groups": {},
    }


def divergence(time_us: int = 4_512_000) -> dict[str, Any]:
    """The moment after the old leader 101 returned and before it cuts X1, X2 and X3."""
    held: Records = [("A", 0), ("B", 0), ("Y1", 1)]
    old: Records = [("A", 0), ("B", 0), ("X1", 0), ("X2", 0), ("X3", 0)]
    logs = {
        101: make_log(old, 2),
        102: make_log(held, 3, "leader"),
        103: make_log(held, 3),
    }
    return make_snapshot({0: make_partition(logs, 102, 1, [102, 103])}, time_us)


class ToyCluster:
    """Brokers 101–103 and a topic `orders`; every fault takes effect in one step."""

    def __init__(self, partitions: int = 1) -> None:
        self.time_us = 0
        self.calls: list[tuple[Any, ...]] = []
        self.lines: list[dict[str, Any]] = []
        self.refuses: dict[str, str] = {"lose_power": "A toy has no power to lose."}
        self.state = make_snapshot(
            {
                index: make_partition(
                    {
                        broker: make_log(
                            [], 0, "leader" if broker == 101 + index % 3 else "follower"
                        )
                        for broker in BROKERS
                    },
                    101 + index % 3,
                    0,
                    BROKERS,
                )
                for index in range(partitions)
            }
        )

    # -- what a Cluster offers

    def snapshot(self, values: bool = False, tail: int = 0) -> dict[str, Any]:
        self.time_us += 100_000
        self.state["time_us"] = self.time_us
        return deepcopy(self.state)

    def refusal(self, fault: str) -> str:
        return self.refuses.get(fault, "")

    def trace(self, since: int = 0) -> dict[str, Any]:
        return {"lines": self.lines[since:], "next": len(self.lines)}

    def kill(self, node: int) -> None:
        self._change("kill", node, "killed")

    def stop(self, node: int) -> None:
        self._change("stop", node, "stopped")

    def start(self, node: int) -> None:
        self._change("start", node, "running")

    def pause(self, node: int) -> None:
        self._change("pause", node, "paused")

    def resume(self, node: int) -> None:
        self._change("resume", node, "running")

    def cut(self, one: int, other: int) -> None:
        self.calls.append(("cut", one, other))
        self.state["links"].append({"between": [one, other], "state": "cut", "delay_ms": 0})

    def isolate(self, node: int) -> None:
        self.calls.append(("isolate", node))
        self.state["links"] += [
            {"between": [node, other], "state": "cut", "delay_ms": 0}
            for other in (100, *BROKERS)
            if other != node
        ]

    def heal(self) -> None:
        self.calls.append(("heal",))
        self.state["links"] = []

    # -- what happens to it

    def write(self, *values: str, partition: int = 0, to: Sequence[int] | None = None) -> None:
        """Appends to the replicas `to`, or to the ISR, which commits the records."""
        state = self.state["topics"]["orders"]["partitions"][partition]
        for broker in state["isr"] if to is None else to:
            log = state["logs"][broker]
            held = [(v, b["epoch"]) for b in log["batches"] for v in b["values"]]
            held += [(value, state["leader_epoch"]) for value in values]
            mark = len(held) if to is None else log["high_watermark"]
            state["logs"][broker] = make_log(held, mark, log["role"])
            self.tell(broker, "append", partition, base=len(held) - len(values), last=len(held) - 1)

    def tell(self, node: int, kind: str, partition: int = 0, **fields: Any) -> None:
        self.lines.append(
            {
                "time_us": self.time_us + len(self.lines),
                "node": node,
                "kind": kind,
                "partition": f"orders-{partition}",
                "fields": fields,
                "why": "the toy says so",
                "rule": "toy.cluster",
            }
        )

    def _change(self, call: str, node: int, state: str) -> None:
        self.calls.append((call, node))
        self.state["brokers"][node]["state"] = state
        self.state["brokers"][node]["fenced"] = state in ("killed", "stopped")
        for index in sorted(self.state["topics"]["orders"]["partitions"]):
            self._elect(index, node, state)

    def _elect(self, index: int, node: int, broker_state: str) -> None:
        state = self.state["topics"]["orders"]["partitions"][index]
        if broker_state in ("killed", "stopped"):
            state["isr"] = [b for b in state["isr"] if b != node]
            if state["leader"] == node:
                state["leader"] = state["isr"][0] if state["isr"] else -1
                state["leader_epoch"] += 1
                self.tell(state["leader"], "leader", index, leader=state["leader"])
        elif node not in state["isr"] and broker_state == "running":
            state["isr"] = [*state["isr"], node]
            leader_log = state["logs"].get(state["leader"])
            if leader_log is not None:
                state["logs"][node] = deepcopy({**leader_log, "role": "follower"})


class Script:
    """A cluster that plays recorded snapshots, one per look, and then stays."""

    def __init__(self, *snapshots: Mapping[str, Any]) -> None:
        self._snapshots = list(snapshots)

    def snapshot(self, values: bool = False, tail: int = 0) -> Mapping[str, Any]:
        return self._snapshots.pop(0) if len(self._snapshots) > 1 else self._snapshots[0]

    def refusal(self, fault: str) -> str:
        return f"A script offers no {fault}."
