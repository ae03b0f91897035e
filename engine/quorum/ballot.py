"""Votes of one round: who has granted, who has refused, and whether that decides it.

voters 100 200 300, asked by 100:   granted {100}        200 and 300 not heard yet
                                    granted {100, 300}   won: 2 of 3
                                    refused {200, 300}   lost: 2 of 3 cannot be reached any more
"""

from __future__ import annotations

from collections.abc import Sequence


class Ballot:
    """One round among `voters`; a nominee votes for itself."""

    def __init__(self, voters: Sequence[int], nominee: int) -> None:
        self.voters = tuple(voters)
        self.granted = {nominee}
        self.refused: set[int] = set()

    def record(self, voter: int, granted: bool) -> None:
        """Takes in a voter's answer; the last one counts."""
        self.granted.discard(voter)
        self.refused.discard(voter)
        if voter in self.voters:
            (self.granted if granted else self.refused).add(voter)

    @property
    def majority(self) -> int:
        return len(self.voters) // 2 + 1

    @property
    def is_won(self) -> bool:
        return len(self.granted) >= self.majority

    @property
    def is_lost(self) -> bool:
        return len(self.voters) - len(self.refused) < self.majority

    @property
    def unheard(self) -> list[int]:
        """Those who have not answered, in the order of the voters."""
        return [
            each for each in self.voters if each not in self.granted and each not in self.refused
        ]
