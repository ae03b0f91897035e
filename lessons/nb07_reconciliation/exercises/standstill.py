"""Says why a script of 07-7 stopped: the line, the rule, the state then, and one remedy."""

from __future__ import annotations

from lessons.nb07_reconciliation.exercises.accident import OLDEST, Outcome, Step

ORDER = (101, 103, 102)
"""The replica list: in this order they are taken for leaders."""


def told(stopped: Outcome, other: Outcome) -> str:
    """The sentences about `stopped`; `other` is the same script under the other rule."""
    assert stopped.stop is not None
    step = stopped.stop.step
    # The script chooses the broker to ask before the waiting begins.
    moment = stopped.steps[-2].standing if stopped.stop.asked else step.standing
    line = str(step.line)
    if not step.line.number:
        line = f"after your last line, at {line}"
    what = what_failed(stopped)
    return f"{line[0].upper()}{line[1:]}, {under(stopped, other)}: {what} At that moment: " + (
        f"{moment}. {_why(stopped)}"
    )


def under(stopped: Outcome, other: Outcome) -> str:
    """The rules under which it stopped there."""
    mine, its = stopped.stop, other.stop
    if mine and its and mine.step.line == its.step.line:
        return "under both rules"
    return f"under {named(stopped)} (not under {named(other)})"


def named(outcome: Outcome) -> str:
    return outcome.rule if outcome.rule == OLDEST else f"today's rule, {outcome.rule}"


def what_failed(stopped: Outcome) -> str:
    assert stopped.stop is not None
    stop, command = stopped.stop, stopped.stop.step.line.command
    if not stop.step.standing.controlled:
        return "this cannot be done without the controller."
    if stop.asked:
        if stop.asked < 0:
            return "there is no leader to ask."
        return f"broker {stop.asked} was asked and did not answer."
    if command.verb == "until":
        return f"this did not come true in {stop.step.took_s:.0f} s."
    if command.verb == "quiet":
        return f"after {stop.step.took_s:.0f} s there is still something going on."
    return f"{stop.said.rstrip('.')}."


def _why(stopped: Outcome) -> str:
    assert stopped.stop is not None
    stop, steps = stopped.stop, stopped.steps
    command, now = stop.step.line.command, stop.step.standing
    if not now.controlled:
        return "Without a controller no leader is elected: start 100 again, or leave it alone."
    if stop.asked:
        return _unanswered(steps, stop.asked)
    if command.verb == "until" and command.words[0] == "leader":
        return _not_elected(steps, command.number(2))
    if command.verb == "until":
        return "Wait for something that the lines above lead to, or leave this line out."
    if command.verb == "quiet":
        return "Wait with until … for what you need, or heal first."
    return "Change this line, or leave it out."


def _not_elected(steps: tuple[Step, ...], wanted: int) -> str:
    now = steps[-1].standing
    if wanted not in now.up:
        return f"{wanted} is not running: start or resume it, or wait for another one."
    if wanted in now.away:
        return f"{wanted} is cut off from the controller: heal that, or wait for another one."
    if now.leader == wanted:
        return f"{wanted} leads, but not everybody has heard of it: heal before you wait."
    if wanted not in now.isr:
        return (
            f"{wanted} is up, but {_left(steps, wanted)}, and only a member of the ISR is elected. "
            f"Let the leader die while {wanted} is still in the ISR."
        )
    return (
        f"No other leader is elected as long as {now.leader} leads, and of those in the ISR "
        f"the first in the list {', '.join(map(str, ORDER))} is taken. What must happen "
        f"before it is {wanted}'s turn?"
    )


def _left(steps: tuple[Step, ...], broker: int) -> str:
    """When it left the ISR for the last time, and the reason if it is known."""
    steps = tuple(step for step in steps if step.standing.controlled)
    last = max(at for at, step in enumerate(steps) if broker in step.standing.isr)
    step = steps[last + 1]
    left = f"it left the ISR in {step.line}, in which {step.took_s:.1f} s went by"
    after = step.standing
    if (broker, after.leader) in after.cuts and after.leader in after.up:
        left += (
            f": cut off from its leader {after.leader}, it did not fetch for 2 s "
            "(replica.lag.time.max.ms here)"
        )
    return left


def _unanswered(steps: tuple[Step, ...], asked: int) -> str:
    now = steps[-2].standing
    if now.leader < 0:
        last = [each for step in steps if (each := step.standing.isr)][-1]
        return (
            f"There is no leader: none of the last ISR ({', '.join(map(str, last))}) is there. "
            "Keep one of the ISR alive, or start one of these again."
        )
    if asked not in now.up and asked == now.leader:
        return (
            f"{asked} still counts as the leader, though it is not running: the controller notices "
            "that only when heartbeats have stopped for 2 s, and no line has let them pass. Before "
            "you go on, wait until another broker leads."
        )
    if asked not in now.up:
        return f"{asked} is not running: ask the leader, or start it."
    return f"{asked} is up, but out of reach: heal what is cut, or wait for another leader."
