"""05-12: what a broker knows after it has applied the metadata log."""

from __future__ import annotations

from random import Random
from typing import Any

from kit.exercises.exercise import Exercise, cases, compare_results

CASES: tuple[tuple, ...] = (
    ([{"partition": "orders-0", "leader": 101, "isr": [101, 102]}],),
    ([{"partition": "orders-0", "leader": 101, "isr": [101, 102]},
      {"partition": "orders-0", "isr": [101]}],),
    ([{"partition": "orders-0", "leader": 101, "isr": [101, 102]},
      {"partition": "orders-0", "leader": 102}],),
    ([{"partition": "orders-0", "leader": 101, "isr": [101]},
      {"partition": "orders-late-0", "leader": 102, "isr": [102]},
      {"topic": "orders", "deleted": True}],),
    ([{"partition": "orders-0", "leader": 101, "isr": [101, 102]},
      {"topic": "orders", "deleted": True},
      {"partition": "orders-0", "leader": 103, "isr": [103]}],),
)  # fmt: skip
TOPICS = ("orders", "orders-late", "parcels")


def made(source: Random) -> tuple:
    records: list[dict] = []
    for _ in range(source.randrange(2, 11)):
        topic = source.choice(TOPICS)
        if source.random() < 0.3:
            topic = source.choice(TOPICS[:2])
            records.append({"topic": topic, "deleted": True})
            continue
        isr = sorted(source.sample((101, 102, 103), k=source.randrange(1, 4)))
        record: dict = {"partition": f"{topic}-{source.randrange(2)}"}
        record |= {"leader": isr[0]} if source.random() < 0.7 else {}
        record |= {"isr": isr} if source.random() < 0.7 else {}
        records.append(record)
    return (records,)


def apply(records: list) -> dict:
    known: dict = {}
    for record in records:
        if record.get("deleted"):
            gone = record["topic"]
            known = {name: it for name, it in known.items() if name.rpartition("-")[0] != gone}
            continue
        leader, isr = known.get(record["partition"], [-1, []])
        known[record["partition"]] = [record.get("leader", leader), record.get("isr", isr)]
    return known


def explain(arguments: tuple, expected: dict, seen: Any) -> str:
    if not isinstance(seen, dict):
        return "A dictionary is asked for."
    if more := sorted(set(seen) - set(expected)):
        return f"{more[0]} is still there, and its topic was deleted."
    if fewer := sorted(set(expected) - set(seen)):
        return f"{fewer[0]} is missing: its topic was not deleted after its last record."
    name = next((each for each in expected if list(seen[each]) != expected[each]), "")
    if not name:
        return "The values are lists: [leader, ISR]."
    return f"{name} is {expected[name]}: a field that a record does not name stays as it was."


EXERCISE = Exercise(
    "05-12",
    "A broker's memory",
    (
        "Go through the records in their order, with one dictionary.",
        "What a record does not name stays. A partition that is new has leader -1 and an empty "
        "ISR. A topic's name can contain a hyphen.",
        "For a deletion keep the partitions whose name without the last part is another topic. "
        "Otherwise take each field from the record, or if it has none, from what is known.",
    ),
    lambda answer, context: compare_results(context.inputs, answer, apply, explain),
    {
        "each record is whole": "def apply(records):\n"
        "    known = {}\n"
        "    for r in records:\n"
        "        if r.get('deleted'):\n"
        "            known = {n: v for n, v in known.items() "
        "if n.rpartition('-')[0] != r['topic']}\n"
        "        else:\n"
        "            known[r['partition']] = [r.get('leader', -1), r.get('isr', [])]\n"
        "    return known",
        "by the beginning of the name": "def apply(records):\n"
        "    known = {}\n"
        "    for r in records:\n"
        "        if r.get('deleted'):\n"
        "            known = {n: v for n, v in known.items() if not n.startswith(r['topic'])}\n"
        "        else:\n"
        "            old = known.get(r['partition'], [-1, []])\n"
        "            known[r['partition']] = [r.get('leader', old[0]), r.get('isr', old[1])]\n"
        "    return known",
        "nothing is deleted": "def apply(records):\n"
        "    known = {}\n"
        "    for r in records:\n"
        "        if not r.get('deleted'):\n"
        "            old = known.get(r['partition'], [-1, []])\n"
        "            known[r['partition']] = [r.get('leader', old[0]), r.get('isr', old[1])]\n"
        "    return known",
    },
    inputs=cases(CASES, made),
)
