"""The arrival stage: rows that could not be asked before the place was there are asked by the job's first step."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

from gonogo.jobs.model import Job
from gonogo.platforms.contract import Platform
from gonogo.platforms.faults import Fault, NotFound, TimedOut
from gonogo.platforms.probe.preflight import Expectation, PreflightResult, parse_preflight
from gonogo.platforms.probe.questions import ProgramQuestion
from gonogo.platforms.programs import first_program
from gonogo.reports.rows import Row, State
from gonogo.reports.verdict import Verdict

#: Seconds between looks at the job's output while its preflight runs.
_TICK = 0.2


def expectations(rows: Sequence[Row], job: Job) -> list[Expectation]:
    """What the in-job preflight must find true, one for each deferred row that it can answer, keyed by the row's
    name."""
    found = []
    for row in rows:
        if row.state is State.DEFERRED and row.id == "JOB-10":
            found.append(Expectation(ProgramQuestion(row.name, first_program(job) or "sh")))
    return found


def unanswerable(rows: Sequence[Row], job: Job) -> list[str]:
    """The names of the deferred rows that the in-job preflight cannot ask: they need the image to be there first."""
    answered = {one.question.key for one in expectations(rows, job)}
    return [row.name for row in rows if row.state is State.DEFERRED and row.name not in answered]


def wait_for_result(platform: Platform, native_id: str, nonce: str, patience: float) -> PreflightResult:
    """Follow the job's output until its preflight has ended, over short silences of the platform.

    Raises NotFound where the job is gone, TimedOut after `patience` seconds.
    """
    ends = time.monotonic() + patience
    silence = ""
    while True:
        try:
            ended = platform.status(native_id).state.ended
            result = parse_preflight(platform.arrival_output(native_id), nonce)
            if result.done:
                return result
            if ended:  # the output was read after the end was seen: nothing more will come
                return replace(result, done=True, passed=False)
        except NotFound:
            raise
        except Fault as fault:
            silence = f" ({fault.message})"
        if time.monotonic() >= ends:
            raise TimedOut(f"the in-job preflight on {platform.address} did not end within {patience:g} s{silence}")
        time.sleep(_TICK)


def settle(rows: Sequence[Row], result: PreflightResult) -> list[Row]:
    """The rows with their deferred ones decided by what the in-job preflight said; no answer leaves a row
    unverified."""
    return [_settled(row, result) if row.state is State.DEFERRED else row for row in rows]


def _settled(row: Row, result: PreflightResult) -> Row:
    if row.name in result.results:
        holds, words = result.results[row.name]
        state = State.PASSED if holds else State.FAILED
        return replace(row, state=state, stage="arrival", found=words or row.found, message=None if holds else words)
    return replace(row, state=State.UNVERIFIED, stage="arrival", message="the in-job preflight gave no answer")


def with_verdict(document: Mapping[str, Any], verdict: Verdict) -> dict[str, Any]:
    """The report with the rows that arrival has settled and the verdict over them."""
    return {
        **document,
        "verdict": verdict.word,
        "because": verdict.because,
        "counts": dict(verdict.counts),
        "causes": [asdict(cause) for cause in verdict.causes],
        "rows": [row.to_json() for row in verdict.rows],
    }


def tail_of(platform: Platform, native_id: str) -> str:
    """The last lines of the job's output, for a message; empty where there is none."""
    try:
        return b"".join(platform.logs(native_id, tail=5)).decode(errors="replace").strip()
    except Fault:
        return ""
