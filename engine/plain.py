"""Plain data: what leaves a state machine for a view, a comparison or the control socket.

Dicts with text keys, lists, texts, numbers, booleans and None, as JSON has them.  Plain data shares
nothing with the state, and its readers do not change it.
"""

from __future__ import annotations

from typing import Any

Plain = dict[str, Any]
