"""The words of a report: a row, its state, its evidence, a probe's place in time.

See README.md, 'The verdict'.

Everything here is plain data that survives JSON and the trip from an xdist worker to its controller.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from enum import Enum
from typing import Any


def row_name(row: str, param: str) -> str:
    """How a row is called: its ID, with the parameter in brackets where there is one."""
    return f"{row}[{param}]" if param else row


class State(str, Enum):
    """What is known of one requirement after a run."""

    PASSED = "passed"
    FAILED = "failed"
    WARNED = "warned"
    UNVERIFIED = "unverified"
    BLOCKED = "blocked"
    ERROR = "error"
    DEFERRED = "deferred"
    ATTESTED = "attested"
    WAIVED = "waived"
    NOT_RUN = "not-run"


class Severity(str, Enum):
    """`required` rows decide the verdict, `advisory` rows only warn."""

    REQUIRED = "required"
    ADVISORY = "advisory"


@dataclass(frozen=True)
class Evidence:
    """One thing that a probe saw: a short name and its text (already redacted when it reaches a report)."""

    name: str
    text: str


@dataclass
class Row:
    """One requirement, asked about one parameter, and what came of it.

    `message` is the one-line cause in the row's own words; `cause` is the ID of the row that this one waits on
    (state `blocked` only). `seconds` is how long the row itself took, `began` its ISO time in UTC.
    """

    id: str
    param: str
    title: str
    severity: Severity
    state: State
    stage: str = "target"
    found: str | None = None
    expected: str | None = None
    message: str | None = None
    remedy: str | None = None
    cause: str | None = None
    waiver: dict[str, str] | None = None
    evidence: list[Evidence] = field(default_factory=list)
    seconds: float = 0.0
    began: str | None = None
    node: str = ""

    @property
    def key(self) -> tuple[str, str]:
        """What identifies the row among the expected ones."""
        return (self.id, self.param)

    @property
    def name(self) -> str:
        """`S3-02[s3://bucket/coco/train/]`, or the bare ID where there is no parameter."""
        return row_name(self.id, self.param)

    def to_json(self) -> dict[str, Any]:
        """A JSON-able mapping; `from_json` takes it back."""
        return {**asdict(self), "severity": self.severity.value, "state": self.state.value}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Row:
        """The row that `to_json` wrote. Raises KeyError, TypeError or ValueError where it did not."""
        values = dict(data)
        values["severity"] = Severity(values["severity"])
        values["state"] = State(values["state"])
        values["evidence"] = [Evidence(**item) for item in values.get("evidence", [])]
        return cls(**values)


@dataclass(frozen=True)
class Expected:
    """One (row, parameter) pair that the job and the platform call for, whether or not a test ever ran for it."""

    id: str
    param: str
    title: str
    severity: Severity
    stage: str
    remedy: str = ""

    @property
    def key(self) -> tuple[str, str]:
        return (self.id, self.param)


@dataclass(frozen=True)
class ProbeTrace:
    """When one probe ran and how it ended.

    `began` is in seconds since the run began, `state` is done, failed or timed out.
    """

    name: str
    needs: tuple[str, ...]
    began: float
    seconds: float
    state: str
    message: str = ""
