"""Named cases: what went wrong in Kafka's history, played under the old rule and the new.

case.py      a case, its two endings, the list        stage.py, readers.py   clients that
player.py    what a scenario may say beyond scripts   judges.py              are recorded
*.txt        the scenarios, each with its outcome     aborted.py             what they drop
                                                      group_members.py       groups, by hand

May import: client, cluster, events, past, plain, records, replication, sim.clients, sim.history,
sim.scripts, sim.world, wire.
"""

from engine.sim.cases.case import CASES, Case, Ending, Played, play_case, play_side
from engine.sim.cases.judges import Verdict

__all__ = ["CASES", "Case", "Ending", "Played", "Verdict", "play_case", "play_side"]
