"""The judge: the process beside the kernel that knows the right answers.

It reads one request, a line of JSON, and writes one reply, a line of JSON:

    {"ask": "question", "id"}                  -> {"question", "choices", "several"}
    {"ask": "predict", "id", "choices"}        -> {"passed", "message", ...}
    {"ask": "inputs", "id"}                    -> {"inputs": [...]} or {"inputs": null}
    {"ask": "check", "id", "answer", "bootstrap"} -> {"passed", "message", "hints", ...}
    {"ask": "hint", "id", "rung"}              -> {"text", "rungs"}; rung 4 is the solution
    {"ask": "titles"}                          -> {"titles": [[id, title], ...]}

An error is a reply too: {"error": one sentence}.  A learner's answer is plain data and is
never executed here.
"""

from __future__ import annotations

import dataclasses
import json
import os
import sys
from collections.abc import Callable
from typing import Any

from kit.exercises import catalogue, plain
from kit.exercises.cluster_log import Context, NoCluster
from kit.exercises.exercise import Exercise, Prediction, Verdict

SEED_VARIABLE = "KAFKALAB_JUDGE_SEED"
Reply = dict[str, Any]


class BadRequest(Exception):
    """A request that fits no exercise; the text is for the learner."""


def reply_to(line: str) -> str:
    """One request in, one reply out; never raises."""
    try:
        request = json.loads(line)
        reply = HANDLERS[request["ask"]](request)
    except (catalogue.NoSuchExercise, NoCluster, BadRequest) as failure:
        reply = {"error": str(failure)}
    except Exception as failure:  # an answer of a shape that the judge did not foresee
        reply = {
            "error": f"The judge could not read this answer ({type(failure).__name__}: {failure})."
        }
    return json.dumps(reply)


def _exercise(request: dict) -> Exercise:
    found = catalogue.find(request["id"])
    if not isinstance(found, Exercise):
        raise BadRequest(f'{found.id} is a prediction; answer it with predict("{found.id}", "a").')
    return found


def _prediction(request: dict) -> Prediction:
    found = catalogue.find(request["id"])
    if not isinstance(found, Prediction):
        raise BadRequest(f'{found.id} is an exercise; answer it with check("{found.id}", answer).')
    return found


def _question(request: dict) -> Reply:
    found = _prediction(request)
    choices = dict(zip(found.letters(), found.choices, strict=True))
    return {"question": found.question, "choices": choices, "several": len(found.right) > 1}


def _predict(request: dict) -> Reply:
    found = _prediction(request)
    chosen = [str(choice).strip().lower() for choice in request["choices"]]
    for letter in chosen:
        if letter not in found.letters():
            raise BadRequest(f"Choose among {', '.join(found.letters())}; there is no {letter!r}.")
    if frozenset(chosen) == found.right:
        return _as_reply(Verdict(True, found.explanation)) | {"title": found.title}
    overlooked = [found.because[letter] for letter in chosen if letter in found.because]
    right_letters = ", ".join(sorted(found.right))
    verdict = Verdict(
        False,
        " ".join([*overlooked, found.explanation]),
        expected=right_letters,
        seen=", ".join(chosen),
    )
    return _as_reply(verdict) | {"title": found.title}


def _inputs(request: dict) -> Reply:
    inputs = _exercise(request).inputs_for(_seed())
    return {"inputs": json.loads(plain.to_json(list(inputs))) if inputs else None}


def _check(request: dict) -> Reply:
    exercise = _exercise(request)
    answer = plain.from_json(json.dumps(request["answer"]))
    context = Context(request.get("bootstrap"), exercise.inputs_for(_seed()))
    verdict = exercise.judge(answer, context)
    return _as_reply(verdict) | {"title": exercise.title, "hints": list(exercise.hints)}


def _seed() -> int:
    """The seed of generated inputs: one in class, another while marking."""
    return int(os.environ.get(SEED_VARIABLE, "1"))


def _hint(request: dict) -> Reply:
    exercise = _exercise(request)
    rungs = len(exercise.hints)
    if request["rung"] <= rungs:
        return {"text": exercise.hints[request["rung"] - 1], "rungs": rungs}
    from kit.authoring.sources import solution_of

    return {"solution": solution_of(exercise.id), "rungs": rungs}


def _titles(request: dict) -> Reply:
    return {"titles": [[found.id, found.title] for found in catalogue.everything()]}


def _as_reply(verdict: Verdict) -> Reply:
    return dataclasses.asdict(verdict)


HANDLERS: dict[str, Callable[[dict], Reply]] = {
    "question": _question,
    "predict": _predict,
    "inputs": _inputs,
    "check": _check,
    "hint": _hint,
    "titles": _titles,
}


def main() -> None:
    sys.stdout.write(reply_to(sys.stdin.readline()) + "\n")


if __name__ == "__main__":
    main()
