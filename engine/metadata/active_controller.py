"""Which controller a broker takes for the active one.

A broker reads the metadata log from the controller that leads the quorum, and its answers name the
leader and its epoch.  One that does not lead refuses, and names the leader if it knows one.  While
no leader is known, a broker tries one controller after the other.
"""

from __future__ import annotations

from collections.abc import Sequence


class ActiveController:
    """`id` is the node that requests go to; `epoch` the latest in which a leader was heard of."""

    def __init__(self, controllers: Sequence[int]) -> None:
        self.controllers = tuple(controllers)
        self.id = self.controllers[0]
        self.epoch = -1

    @property
    def has_others(self) -> bool:
        return len(self.controllers) > 1

    def leads(self, controller: int, epoch: int) -> bool:
        """Takes in who leads in an epoch; False if that is no news.

        A controller may still name the leader that this broker has just found gone.
        """
        if controller not in self.controllers:
            return False
        if epoch <= self.epoch:
            return epoch == self.epoch and controller == self.id
        self.id, self.epoch = controller, epoch
        return True

    def try_next(self) -> None:
        """The one that was asked does not answer, and knows of no other."""
        place = self.controllers.index(self.id) + 1
        self.id = self.controllers[place % len(self.controllers)]
