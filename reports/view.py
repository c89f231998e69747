"""A report's document arranged for reading, the same for HTML, Markdown and the terminal.

The verdict is never recomputed here.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from gonogo.reports.document import rows_of
from gonogo.reports.rows import Row, Severity, State

#: How a state is called in counts, in the order in which they are shown.
STATE_WORDS: Mapping[State, str] = {
    State.PASSED: "passed",
    State.WARNED: "warned",
    State.DEFERRED: "on arrival",
    State.ATTESTED: "attested",
    State.WAIVED: "waived",
    State.FAILED: "failed",
    State.UNVERIFIED: "unverified",
    State.BLOCKED: "blocked",
    State.ERROR: "error",
    State.NOT_RUN: "not run",
}


@dataclass(frozen=True)
class CauseView:
    """One root cause, with its own row where the run has it, and the rows that wait on it."""

    number: int
    id: str
    name: str
    cause: str
    remedy: str
    row: Row | None
    waiting: list[Row]


@dataclass(frozen=True)
class Area:
    """The rows of one subject: `GPU` holds GPU-01 to GPU-11."""

    name: str
    rows: list[Row]

    @property
    def seconds(self) -> float:
        return sum(row.seconds for row in self.rows)

    @property
    def all_hold(self) -> bool:
        return all(row.state is State.PASSED for row in self.rows)

    @property
    def tally(self) -> str:
        return tally(self.rows)


@dataclass(frozen=True)
class View:
    """The page, in reading order."""

    verdict: str
    because: str
    judged: list[tuple[str, str]]
    identified: list[tuple[str, str]]
    causes: list[CauseView]
    warned: list[Row]
    waived: list[Row]
    attested: list[Row]
    deferred: list[Row]
    not_run: list[Row]
    open_advice: list[Row]
    equations: list[str]
    areas: list[Area]
    facts: list[tuple[str, str]]
    options: list[tuple[str, str, str]]
    probes: list[Mapping[str, Any]] = field(default_factory=list)
    seconds: float = 0.0


def arrange(document: Mapping[str, Any]) -> View:
    """The view of a document that `load_document` or `build_document` gave."""
    rows = rows_of(document)
    suite = document["suite"]
    return View(
        verdict=document["verdict"],
        because=document["because"],
        judged=_judged(document),
        identified=_identified(document),
        causes=_causes(document["causes"], rows),
        warned=_in(rows, State.WARNED),
        waived=_in(rows, State.WAIVED),
        attested=_in(rows, State.ATTESTED),
        deferred=_in(rows, State.DEFERRED),
        not_run=_in(rows, State.NOT_RUN),
        open_advice=[row for row in _in(rows, State.UNVERIFIED, State.BLOCKED) if row.severity is Severity.ADVISORY],
        equations=equations(rows),
        areas=_areas(rows),
        facts=[(str(name), _text(value)) for name, value in document["target"].get("facts", {}).items()],
        options=[
            (str(name), _text(setting.get("value")), str(setting.get("from", "")))
            for name, setting in suite.get("options", {}).items()
            if isinstance(setting, Mapping)
        ],
        probes=list(document["probes"]),
        seconds=float(document["seconds"]),
    )


def is_command(remedy: str) -> bool:
    """Whether a remedy is something to paste into a shell: several lines, or one that does not begin as a sentence."""
    text = remedy.strip()
    return "\n" in text or not text[:1].isupper() or bool(re.match(r"[A-Z_]+=", text))


def title(document: Mapping[str, Any]) -> str:
    """`dino-finetune on remote-docker`, or `platform readiness of remote-docker`."""
    job = document.get("job")
    return f"{job['name']} on {document['platform']}" if job else f"platform readiness of {document['platform']}"


def equations(rows: Sequence[Row]) -> list[str]:
    """`27 required = 20 passed + 1 failed + 6 on arrival`, and the same for the advisory rows where there are some."""
    lines = []
    for severity in (Severity.REQUIRED, Severity.ADVISORY):
        some = [row for row in rows if row.severity is severity]
        if some or severity is Severity.REQUIRED:
            lines.append(f"{len(some)} {severity.value} = {tally(some, ' + ') or '0'}")
    return lines


def tally(rows: Sequence[Row], between: str = ", ") -> str:
    """`7 passed, 1 failed`."""
    states = [row.state for row in rows]
    return between.join(f"{states.count(state)} {word}" for state, word in STATE_WORDS.items() if state in states)


def _in(rows: Sequence[Row], *states: State) -> list[Row]:
    return [row for row in rows if row.state in states]


def _causes(causes: Sequence[Mapping[str, Any]], rows: Sequence[Row]) -> list[CauseView]:
    by_name = {row.name: row for row in rows}
    return [
        CauseView(
            number=number,
            id=str(cause.get("id", "")),
            name=str(cause.get("name") or cause.get("id", "")),
            cause=str(cause.get("cause", "")),
            remedy=str(cause.get("remedy") or ""),
            row=by_name.get(str(cause.get("name") or cause.get("id", ""))),
            waiting=[by_name[name] for name in cause.get("blocks", []) if name in by_name],
        )
        for number, cause in enumerate(causes, start=1)
    ]


def _areas(rows: Sequence[Row]) -> list[Area]:
    areas: dict[str, list[Row]] = {}
    for row in rows:
        areas.setdefault(row.id.rpartition("-")[0] or row.id, []).append(row)
    return [Area(name, rows) for name, rows in areas.items()]


def _judged(document: Mapping[str, Any]) -> list[tuple[str, str]]:
    """What a reader wants to know first."""
    job, target = document.get("job"), document["target"]
    name = f"{job['name']} ({job['file']})" if job and job.get("file") else job["name"] if job else ""
    lines = [
        ("Job", name or "none: platform readiness"),
        ("Platform", document["platform"]),
        ("Target", target.get("address", "")),
        ("Asked by", document.get("user", "")),
        ("Started", f"{document['started']}, took {document['seconds']:g} s"),
        ("Valid until", document.get("valid_until") or ""),
    ]
    return [(label, str(value)) for label, value in lines if value]


def _identified(document: Mapping[str, Any]) -> list[tuple[str, str]]:
    """What pins the run down."""
    suite = document["suite"]
    lines = [
        ("Job digest", (document.get("job") or {}).get("digest", "")),
        ("Target identity", document["target"].get("identity", "")),
        ("Suite", f"gonogo {suite.get('version', '')}"),
        ("Suite digest", suite.get("digest", "")),
        ("Command line", document.get("command_line", "")),
    ]
    return [(label, str(value)) for label, value in lines if value]


def _text(value: Any) -> str:
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value)
