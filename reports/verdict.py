"""Rows -> verdict, once and from the expected set, fail closed. See README.md, 'The verdict'.

Nothing here reads a clock, a file or the network: dates are passed in, so that a clearance can be judged again later.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date

from gonogo.reports.rows import Expected, Row, Severity, State
from gonogo.reports.sentences import because, cause_of
from gonogo.reports.waivers import AttestationLike, WaiverLike, apply, withdraw, withdraw_unrecorded

GO, NO_GO, INCOMPLETE = "GO", "NO-GO", "INCOMPLETE"

#: From worst to best: where a pair has several rows, the first of these wins.
WORST_FIRST = (
    State.ERROR,
    State.FAILED,
    State.UNVERIFIED,
    State.BLOCKED,
    State.NOT_RUN,
    State.WARNED,
    State.DEFERRED,
    State.WAIVED,
    State.ATTESTED,
    State.PASSED,
)

_NO_GO_STATES = frozenset({State.FAILED, State.UNVERIFIED, State.BLOCKED})


@dataclass(frozen=True)
class Cause:
    """Why the verdict is not GO: one root, its remedy, and the names of the rows that wait on it.

    `id` is the row's ID, `name` the ID with its parameter. `state` is that of the root row.
    """

    id: str
    name: str
    cause: str
    remedy: str
    blocks: list[str] = field(default_factory=list)
    state: str = State.FAILED.value


@dataclass(frozen=True)
class Verdict:
    """What a run came to. `rows` holds every expected pair and every further row, in the order of the expected set."""

    word: str
    because: str
    causes: list[Cause]
    counts: dict[str, int]
    rows: list[Row]
    strict: bool = False
    cut_short: str | None = None

    @property
    def go(self) -> bool:
        """Whether a launch may follow. The only way to ask: a word that is not exactly `GO` is no."""
        return self.word == GO


def judge(
    rows: Sequence[Row],
    expected: Sequence[Expected],
    *,
    strict: bool = False,
    cut_short: str | None = None,
    has_job: bool = True,
    attested: Sequence[AttestationLike] | None = None,
    waivers: Sequence[WaiverLike] | None = None,
    today: date | None = None,
) -> Verdict:
    """The verdict over `rows`, measured against `expected`; the rows given are not changed.

    NO-GO where anything is proven broken, open or blocked; else INCOMPLETE where a required pair has no answer, none
    is expected at all, or the run was cut short (`cut_short` says why); else GO. `strict` makes deferred rows block.

    With `attested` or `waivers` given, what the rows say about either is undone and decided again from these lists as
    of `today`: that is how a saved report is judged. Without them the rows' own records stand, as applied in the run.
    Raises ValueError when either is given without `today`.
    """
    settled = [_settled(row) for row in rows]
    if attested is not None or waivers is not None:
        if today is None:
            raise ValueError("judge needs today's date to decide attestations and waivers")
        for row in settled:
            withdraw(row)
        apply(settled, attested or (), waivers or (), today)
    else:
        for row in settled:
            withdraw_unrecorded(row, today)
    judged = _against_expected(settled, expected, cut_short)
    causes = _causes(judged, strict)
    nothing_expected = not any(pair.severity is Severity.REQUIRED for pair in expected)
    word = _word(judged, nothing_expected, strict, cut_short)
    roots = [(cause.cause, len(cause.blocks)) for cause in causes]
    return Verdict(
        word=word,
        because=because(word, judged, roots, cut_short=cut_short, has_job=has_job, nothing_expected=nothing_expected),
        causes=causes,
        counts=count(judged),
        rows=judged,
        strict=strict,
        cut_short=cut_short,
    )


def count(rows: Iterable[Row]) -> dict[str, int]:
    """How many rows are in each state, worst first, states without a row left out."""
    states = [row.state for row in rows]
    return {state.value: states.count(state) for state in WORST_FIRST if state in states}


def blocks(row: Row, strict: bool) -> bool:
    """Whether this row alone forbids GO."""
    if row.state is State.ERROR:
        return True
    if row.severity is not Severity.REQUIRED:
        return False
    return row.state in _NO_GO_STATES or row.state is State.NOT_RUN or (strict and row.state is State.DEFERRED)


def _settled(row: Row) -> Row:
    copy = replace(row, evidence=list(row.evidence), waiver=dict(row.waiver) if row.waiver else None)
    if copy.severity is Severity.ADVISORY and copy.state is State.FAILED:
        copy.state = State.WARNED
    return copy


def _against_expected(rows: Sequence[Row], expected: Sequence[Expected], cut_short: str | None) -> list[Row]:
    """One row for each expected pair, in that order, then the rows that nobody expected, by name."""
    answered = _worst_by_key(rows)
    judged: list[Row] = []
    for key, pair in _strictest_by_key(expected).items():
        row = answered.pop(key, None)
        judged.append(_held_to(pair, row) if row is not None else _not_run(pair, cut_short))
    return judged + [answered[key] for key in sorted(answered)]


def _strictest_by_key(expected: Sequence[Expected]) -> dict[tuple[str, str], Expected]:
    pairs: dict[tuple[str, str], Expected] = {}
    for pair in expected:
        if pair.key not in pairs or pair.severity is Severity.REQUIRED:
            pairs[pair.key] = pair
    return pairs


def _worst_by_key(rows: Sequence[Row]) -> dict[tuple[str, str], Row]:
    worst: dict[tuple[str, str], Row] = {}
    for row in rows:
        other = worst.get(row.key)
        if other is None or _badness(row) < _badness(other):
            worst[row.key] = row
    return worst


def _badness(row: Row) -> tuple[int, int]:
    return (WORST_FIRST.index(row.state), 0 if row.severity is Severity.REQUIRED else 1)


def _held_to(pair: Expected, row: Row) -> Row:
    """The row at the severity that the expected set asks for: a row that took itself lightly is not let off."""
    if pair.severity is Severity.REQUIRED and row.severity is Severity.ADVISORY:
        state = State.FAILED if row.state is State.WARNED else row.state
        return replace(row, severity=Severity.REQUIRED, state=state)
    return row


def _not_run(pair: Expected, cut_short: str | None) -> Row:
    why = f"the run was cut short: {cut_short}" if cut_short else "it was never asked: not selected or not collected"
    return Row(
        id=pair.id,
        param=pair.param,
        title=pair.title,
        severity=pair.severity,
        state=State.NOT_RUN,
        stage=pair.stage,
        message=f"no answer; {why}",
        remedy="Run the whole suite again, without a selection.",
    )


def _word(rows: Sequence[Row], nothing_expected: bool, strict: bool, cut_short: str | None) -> str:
    blocking = [row for row in rows if blocks(row, strict)]
    if any(row.state is not State.NOT_RUN for row in blocking):
        return NO_GO
    if blocking or nothing_expected or cut_short is not None:
        return INCOMPLETE
    return GO


def _causes(rows: Sequence[Row], strict: bool) -> list[Cause]:
    """The roots of everything that stands against GO, those that most rows wait on first."""
    by_id = _worst_by_id(rows)
    roots: dict[str, Cause] = {}
    waiting: dict[str, list[str]] = {}
    for row in rows:
        if not blocks(row, strict) or row.state is State.NOT_RUN:
            continue  # a row that was never asked is listed as such: it is a gap, not a cause
        if row.state is not State.BLOCKED:
            roots.setdefault(row.name, _cause(row, strict))
            continue
        root = _root(row, by_id)
        if root is None:  # what it waits on is not in this run, or holds: it still blocks, under that ID
            name = row.cause or row.name
            roots.setdefault(name, Cause(row.cause or row.id, name, *cause_of(row, strict), state=row.state.value))
        else:
            name = root.name
            roots.setdefault(name, _cause(root, strict))
        waiting.setdefault(name, []).append(row.name)
    found = [replace(cause, blocks=waiting.get(name, [])) for name, cause in roots.items()]
    return sorted(found, key=lambda cause: -len(cause.blocks))


def _cause(row: Row, strict: bool) -> Cause:
    return Cause(row.id, row.name, *cause_of(row, strict), state=row.state.value)


def _worst_by_id(rows: Sequence[Row]) -> dict[str, Row]:
    """The row to blame for each ID and for each full name."""
    worst: dict[str, Row] = {}
    for row in rows:
        for name in {row.id, row.name}:
            if name not in worst or _badness(row) < _badness(worst[name]):
                worst[name] = row
    return worst


def _root(row: Row, by_id: Mapping[str, Row]) -> Row | None:
    """The row at the end of the chain of causes; None where it leads nowhere, to a row that holds, or in a ring."""
    seen = {row.name}
    while row.state is State.BLOCKED:
        found = by_id.get(row.cause or "")
        if found is None or found.name in seen:
            return None
        seen.add(found.name)
        row = found
    return None if row.state in (State.PASSED, State.DEFERRED) else row
