"""Rules of the historic control plane, broken one at a time; see mutants.py.

They have no tapes: a seed of the campaign with an ensemble catches each.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from engine.metadata.image import PartitionImage
from engine.sim.campaign.mutant import Mutant, Original, Patch
from engine.wire.errors import Errors
from engine.zookeeper import changes, states
from engine.zookeeper.agreement import Agreement
from engine.zookeeper.client import Client
from engine.zookeeper.context import Context, Key
from engine.zookeeper.messages import Order, Vote
from engine.zookeeper.orders import Orders
from engine.zookeeper.sessions import Sessions
from engine.zookeeper.steps import Results
from engine.zookeeper.tree import Create, Tree, Write


def _any_epoch(original: Original, self: Orders, body: Order) -> Errors:
    error: Errors = original(self, body)
    return Errors.NONE if error is Errors.STALE_CONTROLLER_EPOCH else error


def _unchecked(original: Original, self: Context, write: Write) -> Write:
    return write


def _never_over(original: Original, self: Sessions, *rest: object) -> list[int]:
    return []


def _watches_forgotten(original: Original, self: Client) -> None:
    if self.session:
        self.watches = {}
    original(self)


def _watch_once(original: Original, c: Context, now: int, results: Results) -> Any:
    return [replace(each, watch=not c.is_loaded) for each in original(c, now, results)]


def _anyone_alive(
    original: Original, c: Context, key: Key, image: PartitionImage
) -> PartitionImage | None:
    alive = [each for each in reversed(image.replicas) if c.is_online(each)]
    return states.led_by(image, alive[0], tuple(alive)) if alive else None


def _same_epoch(
    original: Original, image: PartitionImage, leader: int, isr: tuple[int, ...]
) -> PartitionImage:
    return replace(image, leader=leader, isr=isr)


def _any_log(original: Original, self: Agreement, now: int, candidate: int, asked: Vote) -> bool:
    return bool(original(self, now, candidate, replace(asked, last=1 << 62)))


def _alone(original: Original, self: Agreement, now: int) -> None:
    self.majority = 1
    original(self, now)


def _outlives(original: Original, self: Tree, zxid: int, session: int, write: Create,
              changes: Any) -> Any:  # fmt: skip
    kept = replace(write, ephemeral=False) if write.path.startswith("/brokers") else write
    return original(self, zxid, session, kept, changes)


ZOOKEEPER_MUTANTS: dict[str, Mutant] = {mutant.name: mutant for mutant in (
    Mutant("obey-any-controller", "a broker obeys a controller of an earlier epoch",
           (Patch(Orders, "_refusal", _any_epoch),), "epochs"),
    Mutant("writes-are-not-fenced", "a controller writes whether it still is the last one or not",
           (Patch(Context, "fenced", _unchecked),), "fenced"),
    Mutant("sessions-never-end", "the ensemble waits for good for a client that is gone",
           (Patch(Sessions, "over", _never_over),), ("liveness", "crash")),
    Mutant("watches-are-forgotten", "a client does not name its watches to its next member",
           (Patch(Client, "_connect", _watches_forgotten),), ("liveness", "crash")),
    Mutant("watch-is-not-renewed", "a controller that hears of a change watches no further one",
           (Patch(changes, "_ask_for_ids", _watch_once),), ("liveness", "crash")),
    Mutant("registration-outlives-its-session", "a broker's znode is not ephemeral",
           (Patch(Tree, "_create", _outlives),), ("liveness", "crash")),
    Mutant("elect-who-is-alive", "any living replica may lead",
           (Patch(states, "offline", _anyone_alive),), ("no loss", "strong ISR")),
    Mutant("no-epoch-for-a-new-leader", "a new leader does not begin a new epoch",
           (Patch(states, "led_by", _same_epoch),),
           ("one leader", "epochs", "monotonic", "liveness")),
    Mutant("vote-for-any-log", "a member votes for one whose log ends before its own",
           (Patch(Agreement, "_vote", _any_log),),
           ("one order", "one controller", "fenced")),
    Mutant("one-is-a-majority", "a leader takes its own log for a majority",
           (Patch(Agreement, "_count", _alone),),
           ("one order", "one controller", "fenced")),
)}  # fmt: skip
