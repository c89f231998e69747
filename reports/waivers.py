"""Attestations and waivers applied to rows. See README.md, 'The verdict'.

An attestation covers an `unverified` row only: a proven failure beats it. A waiver covers a `failed` or `unverified`
row through its `until` day. Neither covers an error of the harness, a blocked row or one that never ran.

An attestation or waiver covers exactly the pair that it names. One without `param` covers the row that is asked once,
never all parameters of a row: 'all paths' is not something that one signature should cover.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import date
from typing import Protocol, TypeVar

from gonogo.reports.rows import Evidence, Row, Severity, State


class AttestationLike(Protocol):
    """`attested:` of a job file: the user vouches for a row that could not be proven."""

    @property
    def row(self) -> str: ...
    @property
    def param(self) -> str: ...
    @property
    def reason(self) -> str: ...
    @property
    def owner(self) -> str: ...


class WaiverLike(AttestationLike, Protocol):
    """`waivers:` of a job or policy file: a broken row accepted through a day."""

    @property
    def until(self) -> date: ...


def apply(rows: Iterable[Row], attested: Sequence[AttestationLike], waivers: Sequence[WaiverLike], today: date) -> None:
    """Change the state of covered rows in place, with a record of what it was; message, evidence and remedy stay.

    The record in `row.waiver` holds kind (`attestation` or `waiver`), was (the state before), reason, owner and, for
    a waiver, until (ISO date). Where one comes close but does not cover the row, the row's evidence says why.
    """
    for row in rows:
        if row.severity is not Severity.REQUIRED or row.state not in (State.FAILED, State.UNVERIFIED):
            continue
        vouched = _named(row, attested) if row.state is State.UNVERIFIED else None
        valid = _named(row, [one for one in waivers if one.until >= today])
        if vouched is not None:
            row.waiver = {
                "kind": "attestation",
                "was": row.state.value,
                "reason": vouched.reason,
                "owner": vouched.owner,
            }
            row.state = State.ATTESTED
        elif valid is not None:
            row.waiver = {
                "kind": "waiver",
                "was": row.state.value,
                "reason": valid.reason,
                "owner": valid.owner,
                "until": valid.until.isoformat(),
            }
            row.state = State.WAIVED
        else:
            _explain(row, attested, waivers, today)


def withdraw(row: Row) -> None:
    """Undo what `apply` did to this row."""
    if row.state not in (State.ATTESTED, State.WAIVED):
        return
    was = (row.waiver or {}).get("was")
    row.state = State.FAILED if was == State.FAILED.value else State.UNVERIFIED
    row.waiver = None


def withdraw_unrecorded(row: Row, today: date | None = None) -> None:
    """Undo an attestation or waiver that has no proper record, and with `today` one that has expired."""
    if row.state not in (State.ATTESTED, State.WAIVED):
        return
    record = row.waiver or {}
    kind = "attestation" if row.state is State.ATTESTED else "waiver"
    complete = record.get("kind") == kind and record.get("owner") and record.get("reason") and record.get("was")
    disproven = kind == "attestation" and record.get("was") != State.UNVERIFIED.value
    if not complete or disproven or (kind == "waiver" and not _holds(record.get("until", ""), today)):
        withdraw(row)


def _holds(until: str, today: date | None) -> bool:
    try:
        last = date.fromisoformat(until)
    except ValueError:
        return False
    return today is None or last >= today


Named = TypeVar("Named", bound=AttestationLike)


def _named(row: Row, given: Sequence[Named]) -> Named | None:
    return next((one for one in given if (one.row, one.param) == row.key), None)


def _explain(row: Row, attested: Sequence[AttestationLike], waivers: Sequence[WaiverLike], today: date) -> None:
    same = [one for one in waivers if one.row == row.id]
    expired = _named(row, [one for one in same if one.until < today])
    if expired is not None:
        _note(row, f"the waiver of {expired.owner} ended on {expired.until.isoformat()}")
    if row.state is State.FAILED and _named(row, attested) is not None:
        _note(row, "it is attested, but it was proven not to hold: an attestation covers only what could not be proven")
    near: list[AttestationLike] = [*same, *(one for one in attested if one.row == row.id)]
    if row.param and any(not one.param for one in near):
        _note(row, f"an attestation or waiver of {row.id} names no parameter and covers none: write param: {row.param}")


def _note(row: Row, text: str) -> None:
    note = Evidence("attestation or waiver", text)
    if note not in row.evidence:
        row.evidence.append(note)
