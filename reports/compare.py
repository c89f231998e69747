"""What changed since an older report of the same platform: new failures, fixed rows, drift in what was measured."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from gonogo.reports.document import rows_of
from gonogo.reports.rows import Row, State

_HOLDS = frozenset({State.PASSED, State.WARNED, State.DEFERRED, State.ATTESTED, State.WAIVED})


@dataclass(frozen=True)
class Drift:
    """A measured value or a fact of the target that is not what it was."""

    name: str
    before: str
    now: str


@dataclass(frozen=True)
class Changes:
    """Names of rows, in the order of the newer report, and values that drifted. `since` is when the older run began."""

    since: str
    verdict_before: str
    broken: list[str] = field(default_factory=list)
    mended: list[str] = field(default_factory=list)
    added: list[str] = field(default_factory=list)
    gone: list[str] = field(default_factory=list)
    drift: list[Drift] = field(default_factory=list)

    @property
    def none(self) -> bool:
        return not (self.broken or self.mended or self.added or self.gone or self.drift)


def compare(previous: Mapping[str, Any], document: Mapping[str, Any]) -> Changes:
    """The differences from `previous` to `document`. Raises ValueError where they are of different platforms."""
    if previous["platform"] != document["platform"]:
        raise ValueError(f"the older report is of {previous['platform']}, this one of {document['platform']}")
    before = {row.name: row for row in rows_of(previous)}
    now = {row.name: row for row in rows_of(document)}
    both = [name for name in now if name in before]
    return Changes(
        since=previous["started"],
        verdict_before=previous["verdict"],
        broken=[name for name in both if _holds(before[name]) and not _holds(now[name])],
        mended=[name for name in both if not _holds(before[name]) and _holds(now[name])],
        added=[name for name in now if name not in before],
        gone=[name for name in before if name not in now],
        drift=_facts_drift(previous, document)
        + [_drift(name, before[name], now[name]) for name in both if _drifted(before[name], now[name])],
    )


def _holds(row: Row) -> bool:
    return row.state in _HOLDS


def _drifted(before: Row, now: Row) -> bool:
    return before.found is not None and now.found is not None and before.found != now.found


def _drift(name: str, before: Row, now: Row) -> Drift:
    return Drift(name, before.found or "", now.found or "")


def _facts_drift(previous: Mapping[str, Any], document: Mapping[str, Any]) -> list[Drift]:
    before, now = previous["target"].get("facts", {}), document["target"].get("facts", {})
    return [
        Drift(str(name), str(before[name]), str(now[name]))
        for name in now
        if name in before and before[name] != now[name]
    ]
