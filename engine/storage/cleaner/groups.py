"""Old segments are cleaned in groups: each group becomes one new segment.

    before   [0 ... 900 MB][ 1 GB ][ 40 MB ][ 30 MB ]
    groups   |     1       |   2   |       3        |

Cleaning makes segments smaller, so without this a log would end up with many tiny ones.  A group
holds neighbors that together fit in segment.bytes before they are cleaned, with indexes that fit
in segment.index.bytes and offsets that the new segment's index can count.
"""

from __future__ import annotations

from collections.abc import Sequence

from engine.storage import offset_index, time_index
from engine.storage.log_config import LogConfig
from engine.storage.segment import RELATIVE_OFFSET_MAX, Segment


def group(
    segments: Sequence[Segment], config: LogConfig, first_uncleanable_offset: int
) -> list[list[Segment]]:
    """The segments in their order, cut into groups of neighbors."""
    groups: list[list[Segment]] = []
    for number, segment in enumerate(segments):
        behind = segments[number + 1 : number + 2]
        end = behind[0].base_offset if behind else first_uncleanable_offset
        if groups and _fits(groups[-1], segment, end, config):
            groups[-1].append(segment)
        else:
            groups.append([segment])
    return groups


def _fits(group: list[Segment], segment: Segment, end: int, config: LogConfig) -> bool:
    together = [*group, segment]
    offsets_bytes = sum(each.offset_index.entries for each in together) * offset_index.ENTRY_SIZE
    times_bytes = sum(each.time_index.entries for each in together) * time_index.ENTRY_SIZE
    in_reach = end - 1 - group[-1].base_offset <= RELATIVE_OFFSET_MAX
    return (
        sum(each.size for each in together) <= config.segment_bytes
        and max(offsets_bytes, times_bytes) <= config.segment_index_bytes
        and (segment.size == 0 or in_reach)
    )
