"""The result of a crash test, as a kernel shows it: in text, or drawn."""

from __future__ import annotations

from dataclasses import dataclass

from kit.crashes import drawing
from kit.crashes.evidence import Evidence
from kit.crashes.outcome import Outcome, cells, halves, mark, outcome, times, title, verb


@dataclass(frozen=True, repr=False)
class CrashResult(Outcome):
    """An outcome with its pictures; true if the promise is kept."""

    @property
    def text(self) -> str:
        if self.problem:
            return self.headline
        lines = [self.headline, self.tally, ""]
        width = max(len(mark(each)) for each in self.lines)
        for each in self.lines:
            lines.append(f"{each.number:3}  {mark(each):{width}}  {each.text}".rstrip())
        for mistake in self.mistakes:
            lines += ["", f"{mistake.name}: {mistake.sentence}", f"  {mistake.remedy}"]
        if self.worst is not None and (self.worst.lost or self.worst.repeated):
            lines += ["", *story(self, self.worst)]
        return "\n".join(lines)

    def __repr__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        return drawing.html(self)


def story(result: Outcome, evidence: Evidence) -> list[str]:
    """A trial in rows of text: offsets, what was done before and after, what is wrong."""
    before, after = halves(evidence)
    lines = [f"{title(result, evidence)}:"]
    for partition in sorted(evidence.values):
        row = cells(evidence, partition)
        word = verb(evidence)
        names = ["offset", f"{word} {before}"]
        columns = [[str(c.offset), times(c.before, c.failed)] for c in row]
        if after:
            names.append(f"{word} {after}")
            columns = [[*column, times(c.after)] for column, c in zip(columns, row, strict=True)]
        names.append("outcome")
        columns = [[*column, outcome(c)] for column, c in zip(columns, row, strict=True)]
        width = max(len(text) for column in columns for text in column)
        start = max(map(len, names))
        if len(evidence.values) > 1:
            lines.append(f"  partition {partition}")
        lines += [
            f"  {name:{start}}  " + " ".join(f"{column[n]:^{width}}" for column in columns).rstrip()
            for n, name in enumerate(names)
        ]
        committed = evidence.committed(partition)
        lines.append(f"  {'committed':{start}}  {committed}, where the next one starts")
    return lines
