"""Lives of classic groups, written once and acted on both sides; see actors.py."""

from tests.conformance.probe.actors import Scenario
from tests.conformance.probe.member_scenarios import MEMBERS
from tests.conformance.probe.offset_scenarios import OFFSETS
from tests.conformance.probe.static_scenarios import STATICS

SCENARIOS: dict[str, Scenario] = {each.__name__: each for each in (*MEMBERS, *STATICS, *OFFSETS)}
