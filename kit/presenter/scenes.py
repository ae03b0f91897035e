"""Scenes to show: each begins with a topic, a slow load and a question, and ends with a fault.

No scene says what will happen.  The presenter asks, presses a button on the remote, and the
room sees it.
"""

from __future__ import annotations

from dataclasses import dataclass


class NoSuchScene(RuntimeError):
    """The text says which there are."""


@dataclass(frozen=True, slots=True)
class Scene:
    title: str
    question: str
    minimum: int = 2
    """min.insync.replicas of the topic."""
    acks: str = "all"
    to_press: str = ""
    """For the remote: what to do once the room has answered."""


SCENES = (
    Scene(
        "Three copies",
        "A follower dies. Does the producer notice?",
        to_press="Kill a follower. Wait for the ISR, then start it again.",
    ),
    Scene(
        "The leader dies",
        "Which broker leads next, and how long can no record be written?",
        to_press="Kill the leader. Start it again, and look at its epoch.",
    ),
    Scene(
        "One copy left",
        "Two of three brokers die. What can be written now, and what can be read?",
        to_press="Kill both followers, one after the other.",
    ),
    Scene(
        "A leader that no broker hears",
        "The leader lives and is cut off. What do the producer and the others do?",
        to_press="Cut the leader from everybody. Heal the links after the election.",
    ),
    Scene(
        "acks=1",
        "A producer that waits for the leader alone. What does the next leader have?",
        minimum=1,
        acks="1",
        to_press="Pause both followers, wait for two records, kill the leader, resume the others.",
    ),
)
