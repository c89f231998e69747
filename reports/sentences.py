"""The sentences of a verdict: what a cause is called, and the one line after 'because'."""

from __future__ import annotations

from collections.abc import Sequence

from gonogo.reports.rows import Row, Severity, State


def cause_of(row: Row, strict: bool = False) -> tuple[str, str]:
    """The cause of a blocking row in one line, and its remedy (empty where none is known)."""
    if strict and row.state is State.DEFERRED:
        told = row.message or "it can only be asked on arrival"
        return (
            f"{row.title}: {told}, and --strict asks for proof now",
            row.remedy or "Run without --strict, or where the target can answer now.",
        )
    return row.message or f"{row.title}: {row.state.value}", row.remedy or ""


def because(
    word: str,
    rows: Sequence[Row],
    causes: Sequence[tuple[str, int]],
    *,
    cut_short: str | None,
    has_job: bool,
    nothing_expected: bool,
) -> str:
    """One sentence for the verdict `word`. `causes` are (text, rows that wait on it), the weightiest first."""
    required = [row for row in rows if row.severity is Severity.REQUIRED]
    if word == "GO":
        text = _go(required, rows)
    elif word == "NO-GO":
        text = _no_go(causes, required, cut_short)
    else:
        text = _incomplete(required, cut_short, nothing_expected)
    return text if has_job else f"{text} (platform readiness, no job)"


def _go(required: Sequence[Row], rows: Sequence[Row]) -> str:
    def having(*states: State) -> int:
        return sum(row.state in states for row in required)

    hold = having(State.PASSED, State.WARNED)
    parts = [f"{hold} {_requirements(hold)} {'holds' if hold == 1 else 'hold'}"]
    if deferred := having(State.DEFERRED):
        parts.append(f"{deferred} will be proven on arrival")
    if attested := having(State.ATTESTED):
        parts.append(f"{attested} {'is' if attested == 1 else 'are'} attested")
    if waived := having(State.WAIVED):
        parts.append(f"{waived} {'is' if waived == 1 else 'are'} waived")
    if warned := sum(row.state is State.WARNED for row in rows):
        parts.append(f"{warned} {'warning' if warned == 1 else 'warnings'}")
    return "; ".join(parts)


def _no_go(causes: Sequence[tuple[str, int]], required: Sequence[Row], cut_short: str | None) -> str:
    text, waiting = causes[0]
    parts = [text.rstrip(".")]
    if waiting:
        parts.append(f"{waiting} further {_requirements(waiting)} {'waits' if waiting == 1 else 'wait'} on it")
    if others := len(causes) - 1:
        parts.append(f"{others} other {'cause' if others == 1 else 'causes'}")
    if gaps := sum(row.state is State.NOT_RUN for row in required):
        parts.append(f"{gaps} {_requirements(gaps)} {'has' if gaps == 1 else 'have'} no answer")
    if cut_short is not None:
        parts.append(f"the run was cut short: {cut_short}")
    return "; ".join(parts)


def _incomplete(required: Sequence[Row], cut_short: str | None, nothing_expected: bool) -> str:
    if nothing_expected:
        text = "no requirement applied, so nothing was proven"
    elif missing := [row.name for row in required if row.state is State.NOT_RUN]:
        named = ", ".join(missing[:3]) + (", …" if len(missing) > 3 else "")
        have = "has" if len(missing) == 1 else "have"
        text = f"{len(missing)} of {len(required)} {_requirements(len(required))} {have} no answer: {named}"
    else:
        text = "every requirement was answered, but the run did not end by itself"
    return f"{text}; the run was cut short: {cut_short}" if cut_short is not None else text


def _requirements(number: int) -> str:
    return "requirement" if number == 1 else "requirements"
