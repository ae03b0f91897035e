"""L1-3: typed columns for each payment, or the reason why it has none."""

from __future__ import annotations

import json
from random import Random
from typing import Any

from kit.exercises.cluster_log import Context
from kit.exercises.exercise import Exercise, Verdict, cases, compare_results

MOST = 100_000
"""Cents of a payment, at most; the least is 1."""
NO_VALUE, NOT_JSON, NO_FIELD = "no value", "not JSON", "no field"
WRONG_TYPE, OUT_OF_RANGE = "wrong type", "out of range"

Value = bytes | None
Row = list[Any]
GOOD = b'{"order_id": "o-1", "cents": 500}'


def _bytes(**fields: Any) -> bytes:
    return json.dumps(fields).encode()


INSTRUCTIVE = (
    ([GOOD],),
    ([GOOD, None],),
    ([GOOD, _bytes(order_id="o-2", cents=None)],),
    ([GOOD, _bytes(order_id="o-2", cents="500")],),
    ([GOOD, _bytes(order_id="o-2", cents=MOST + 1)],),
    ([GOOD, b'{"order_id": "o-2", "ce'],),
)


def some_values(source: Random) -> tuple:
    """Payments, good and bad, in any order."""
    order = f"o-{source.randrange(1000)}"
    bad = [
        None,
        _bytes(order_id=order, cents=source.randrange(1, MOST))[: source.randrange(1, 20)],
        _bytes(order_id=order),
        _bytes(order_id=None, cents=source.randrange(1, MOST)),
        _bytes(order_id=order, cents=None),
        _bytes(order_id=order, cents=str(source.randrange(1, MOST))),
        _bytes(order_id=order, cents="free"),
        _bytes(order_id=order, cents=source.randrange(-900, 1)),
        _bytes(order_id=order, cents=source.randrange(MOST + 1, 10 * MOST)),
    ]
    good = [
        _bytes(order_id=f"o-{source.randrange(1000)}", cents=source.choice([1, MOST, 77]))
        for _ in range(6)
    ]
    values = bad + good
    source.shuffle(values)
    return (values,)


def parse(values: list[Value]) -> list[Row]:
    """[number, order, cents, reason] of each record; no order and cents where there is a reason."""
    return [[number, *_parsed(value)] for number, value in enumerate(values)]


def _parsed(value: Value) -> Row:
    if value is None:
        return [None, None, NO_VALUE]
    try:
        payment = json.loads(value)
    except ValueError:
        return [None, None, NOT_JSON]
    order, cents = payment.get("order_id"), payment.get("cents")
    if order is None or cents is None:
        return [None, None, NO_FIELD]
    if not isinstance(cents, int):
        return [None, None, WRONG_TYPE]
    if not 1 <= cents <= MOST:
        return [None, None, OUT_OF_RANGE]
    return [order, cents, None]


def explain_parse(arguments: tuple, expected: Any, seen: Any) -> str:
    (values,) = arguments
    if not isinstance(seen, list) or not all(
        isinstance(row, list) and len(row) == 4 and isinstance(row[0], int) for row in seen
    ):
        return "Give a DataFrame with offset, order_id, cents and reason."
    found = {row[0]: row for row in seen}
    if gone := [n for n in range(len(values)) if n not in found]:
        return (
            f"The record {_text(values[gone[0]])} is in no row at all: a dead letter keeps its "
            "place, so that its bytes can be found again."
        )
    number = next((n for n, row in enumerate(expected) if found[n] != row), 0)
    wanted, got = expected[number], found[number]
    text = _text(values[number])
    if wanted[3] == got[3] and got[3] is not None:
        return f"The record {text} has a reason, and so no order_id and no cents: both are null."
    if got[3] is None and wanted[3] in (NO_FIELD, NO_VALUE):
        return (
            f"The record {text} passes as a payment. A comparison with null is null and not true, "
            "so no rule about cents speaks up: ask for null first."
        )
    if got[3] is None and wanted[3] == WRONG_TYPE:
        return (
            f"The record {text} passes as a payment. Its cents are a text, and a cast reads it as "
            "a number; a schema with the column's type refuses it."
        )
    if wanted[3] is None:
        return f"The record {text} is a good payment, and has the reason {got[3]!r} here."
    return f"The record {text} has the reason {got[3]!r}; the first rule that it breaks is another."


def _text(value: Value) -> str:
    return "without a value" if value is None else value.decode(errors="replace")


def judge_parse(answer: Any, context: Context) -> Verdict:
    return compare_results(context.inputs, answer, parse, explain_parse)


def _answer(schema: str, cents: str, rules: str, rows: str = "records") -> str:
    return f"""
def parse_payments(records):
    text = F.col("value").cast("string")
    payment = F.from_json(text, "{schema}")
    cents = {cents}
    reason = (
        {rules}
    )
    found = {rows}.select("offset", payment["order_id"].alias("order_id"), cents.alias("cents"),
                           reason.alias("reason"))
    good = F.col("reason").isNull()
    return found.withColumns({{name: F.when(good, F.col(name)) for name in ("order_id", "cents")}})
"""


_FIRST = """F.when(F.col("value").isNull(), "no value")
        .when(F.json_object_keys(text).isNull(), "not JSON")"""
_RANGE = f'.when(~cents.between(1, {MOST:_}), "out of range")'
_FIELDS = (
    '.when(F.get_json_object(text, "$.order_id").isNull()'
    ' | F.get_json_object(text, "$.cents").isNull(), "no field")'
)
_CENTS, _TYPED = 'payment["cents"]', "order_id STRING, cents INT"

EXERCISE = Exercise(
    "L1-3",
    "Parse, or say why not",
    (
        "Which value has a column whose JSON could not be read? What does a comparison with it "
        "give, and does a condition with that result hold?",
        "from_json with a schema gives null for what does not fit. get_json_object shows whether "
        "there was something. json_object_keys is null where there is no JSON object.",
        "Write the five rules as one chain of conditions, in the order of the list, each with its "
        "reason; a good payment falls through and has null. Then empty the two columns where a "
        "reason is given.",
    ),
    judge_parse,
    {
        "null passes": _answer(_TYPED, _CENTS, f"{_FIRST}\n        {_RANGE}"),
        "a cast reads text": _answer(
            "order_id STRING, cents STRING",
            'payment["cents"].try_cast("INT")',
            f'{_FIRST}\n        {_FIELDS}\n        .when(cents.isNull(), "wrong type")'
            f"\n        {_RANGE}",
        ),
        "bad ones are dropped": _answer(
            _TYPED,
            _CENTS,
            f'{_FIRST}\n        {_FIELDS}\n        .when(cents.isNull(), "wrong type")'
            f"\n        {_RANGE}",
            'records.where(payment["cents"].isNotNull())',
        ),
        "the columns keep their values": (
            _answer(
                _TYPED,
                _CENTS,
                f'{_FIRST}\n        {_FIELDS}\n        .when(cents.isNull(), "wrong type")'
                f"\n        {_RANGE}",
            )
            .replace("    found = ", "    return ")
            .partition("    good = ")[0]
        ),
    },
    cases(INSTRUCTIVE, some_values, count=2),
    minutes=12,
)
