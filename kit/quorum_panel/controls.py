"""The buttons of a controller: those of a broker, and why one is disabled."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from kit.clusters.faults import BUTTONS
from kit.film.source import Snapshot
from kit.panel import controls
from kit.quorum_panel.scene import Row

OFFERED: Mapping[str, str] = dict.fromkeys(BUTTONS, "")


def of_row(refusals: Mapping[str, str], snapshot: Snapshot, row: Row) -> dict[str, Any]:
    """A controller's buttons, and the links that can be cut; `refusals` by fault."""
    seen = {"controllers": snapshot["voters"], "links": snapshot["links"]}
    return {
        "buttons": [asdict(each) for each in controls.buttons(refusals, row.state, row.id)],
        "links": [asdict(each) for each in controls.links(refusals, seen, row.id)],
    }
