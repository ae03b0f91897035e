"""The judge: the process beside the kernel that knows the right answers.

It reads one request, a line of JSON, and writes one reply, a line of JSON:

    {"ask": "question", "id"}                  -> {"question", "choices", "several", "form"}
    {"ask": "predict", "id", "answer"}         -> the question, and "answer": how it is kept
    {"ask": "settle", "id", "answer", "sides"} -> {"passed", "right", "because"}
    {"ask": "quiz", "id", "choices"}           -> {"passed", "message", ...}
    {"ask": "inputs", "id"}                    -> {"inputs": [...]} or {"inputs": null}
    {"ask": "check", "id", "answer", "bootstrap"} -> {"passed", "message", "hints", ...}
    {"ask": "hint", "id", "rung"}              -> {"text", "rungs"}; rung 4 is the solution
    {"ask": "titles"}                          -> {"titles": [[id, title], ...]}

An error is a reply too: {"error": one sentence}.  A learner's answer is plain data and is
never executed here.

A process of its own serves one check and draws the seed of its inputs, so that no request and
no variable of the kernel chooses them.  While marking, the grader does.
"""

from __future__ import annotations

import dataclasses
import json
import os
import secrets
import sys
from collections.abc import Callable
from typing import Any, TypeVar

from kit.exercises import catalogue, known_clusters, plain, settling, stub
from kit.exercises.cluster_log import Context, NoCluster
from kit.exercises.exercise import Exercise, Prediction, Question, Verdict, wrong

Reply = dict[str, Any]


class BadRequest(Exception):
    """A request that fits no exercise; the text is for the learner."""


def reply_to(line: str, seed: str, clusters: known_clusters.Known) -> str:
    """One request in, one reply out; never raises.

    `seed` makes the inputs of functions; `clusters` says which cluster may be looked at.
    """
    try:
        request = json.loads(line) | {"seed": seed, "clusters": clusters}
        reply = HANDLERS[request["ask"]](request)
    except (
        catalogue.NoSuchExercise,
        NoCluster,
        BadRequest,
        settling.NoAnswer,
        settling.Unsettled,
    ) as failure:
        reply = {"error": str(failure)}
    except Exception as failure:  # an answer of a shape that the judge did not foresee
        reply = {
            "error": f"The judge could not read this answer ({type(failure).__name__}: {failure})."
        }
    return json.dumps(reply)


Kind = TypeVar("Kind", Exercise, Prediction, Question)
NOUNS = {Exercise: "an exercise", Prediction: "a prediction", Question: "a quiz question"}
CALLS = {Exercise: "check", Prediction: "predict", Question: "quiz"}


def _found(request: Reply, kind: type[Kind]) -> Kind:
    found = catalogue.find(request["id"])
    if isinstance(found, kind):
        return found
    it = type(found)
    raise BadRequest(f'{found.id} is {NOUNS[it]}; answer it with {CALLS[it]}("{found.id}", …).')


def _question(request: Reply) -> Reply:
    found = catalogue.find(request["id"])
    if isinstance(found, Exercise):
        raise BadRequest(f'{found.id} is an exercise; answer it with check("{found.id}", …).')
    return {
        "question": found.question,
        "choices": dict(zip(found.letters(), found.choices, strict=True)),
        "several": isinstance(found, Question) and len(found.right) > 1,
        "form": found.form if isinstance(found, Prediction) else "",
        "kind": CALLS[type(found)],
    }


def _predict(request: Reply) -> Reply:
    answer = settling.answer_of(_found(request, Prediction), request["answer"])
    return _question(request) | {"answer": answer}


def _settle(request: Reply) -> Reply:
    prediction = _found(request, Prediction)
    settled = settling.settle(prediction, request["answer"], request["sides"])
    choices = dict(zip(prediction.letters(), prediction.choices, strict=True))
    return dataclasses.asdict(settled) | {"choices": choices}


def _quiz(request: Reply) -> Reply:
    found = _found(request, Question)
    chosen = [str(choice).strip().lower() for choice in request["choices"]]
    for letter in chosen:
        if letter not in found.letters():
            raise BadRequest(f"Choose among {', '.join(found.letters())}; there is no {letter!r}.")
    if frozenset(chosen) == found.right:
        return _as_reply(Verdict(True, found.explanation)) | {"title": found.title}
    overlooked = [found.because[letter] for letter in chosen if letter in found.because]
    verdict = Verdict(
        False,
        " ".join([*overlooked, found.explanation]),
        expected=", ".join(sorted(found.right)),
        seen=", ".join(chosen),
    )
    return _as_reply(verdict) | {"title": found.title}


def _inputs(request: dict) -> Reply:
    inputs = _found(request, Exercise).inputs_for(request["seed"])
    return {"inputs": json.loads(plain.to_json(list(inputs))) if inputs else None}


def _check(request: dict) -> Reply:
    exercise = _found(request, Exercise)
    answer = plain.from_json(json.dumps(request["answer"]))
    bootstrap = request.get("bootstrap")
    if bootstrap is not None:
        request["clusters"].must_know(bootstrap)
    context = Context(bootstrap, exercise.inputs_for(request["seed"]))
    if bootstrap is None and not exercise.inputs and stub.is_value_of(exercise.id, answer):
        verdict = wrong(stub.MESSAGE, expected="an answer of your own", seen=answer)
    else:
        verdict = exercise.judge(answer, context)
    return _as_reply(verdict) | {"title": exercise.title, "hints": list(exercise.hints)}


def _hint(request: dict) -> Reply:
    exercise = _found(request, Exercise)
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
    "settle": _settle,
    "quiz": _quiz,
    "inputs": _inputs,
    "check": _check,
    "hint": _hint,
    "titles": _titles,
}


def main() -> None:
    seed = secrets.token_hex(16)
    clusters = known_clusters.OfKernel(os.getppid())
    for line in sys.stdin:
        sys.stdout.write(reply_to(line, seed, clusters) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
