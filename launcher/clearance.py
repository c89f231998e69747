"""A clearance: the report of a run that passed, standing in for a fresh one (GATE-02). Nothing in the file is taken
on trust."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

from gonogo.fixtures.catalogue import expected
from gonogo.fixtures.suite_identity import suite_digest, suite_version
from gonogo.launcher.exits import Exit, Stop
from gonogo.launcher.opening import Opened
from gonogo.launcher.suite import ROOT
from gonogo.platforms.faults import Fault
from gonogo.reports.document import ReportError, load_document, rows_of
from gonogo.reports.rows import Row
from gonogo.reports.verdict import GO, Verdict, judge

#: How old a clearance may be.
BOUND = timedelta(minutes=15)


def accept(path: Path, opened: Opened, *, strict: bool, today: date, now: datetime) -> dict[str, Any]:
    """The document, if it clears this very launch.

    Job content, platform, target and suite must be the same, its age under the bound, and the verdict, computed again
    from its rows and the expected set, GO. Raises Stop(NO_GO) with the reason, Stop(USAGE) for a file that is no
    report.
    """
    try:
        document = load_document(path)
    except ReportError as error:
        raise Stop(Exit.USAGE, f"--clearance: {error}") from None
    reason = _other(document, opened) or _age(document, now)
    if reason:
        raise _refused(path, reason)
    if document["verdict"] != GO:
        raise _refused(path, f"it is the report of a run that ended {document['verdict']}")
    verdict = judged(rows_of(document), opened, document, strict=strict, today=today)
    if not verdict.go:
        raise _refused(path, f"its rows give {verdict.word}: {verdict.because}")
    try:
        identity = opened.platform.identity()
    except Fault as fault:
        raise _refused(path, f"the target cannot be compared with it: {fault.message}") from None
    if identity != document["target"].get("identity"):
        raise _refused(path, "it is for another target")
    return document


def judged(
    rows: Sequence[Row], opened: Opened, document: Mapping[str, Any], *, strict: bool, today: date | None = None
) -> Verdict:
    """The verdict over those rows, measured against what this job and platform call for today."""
    return judge(
        rows,
        expected(opened.job, opened.settings.platform.value),
        strict=strict,
        cut_short=document.get("cut_short"),
        attested=opened.job.attested,
        waivers=[*opened.job.waivers, *opened.policy.waivers],
        today=today or datetime.now(timezone.utc).date(),
    )


def _other(document: Mapping[str, Any], opened: Opened) -> str:
    job = document.get("job") or {}
    suite = document["suite"]
    if not job:
        return "it is for a platform without a job"
    if job.get("digest") != opened.loaded.digest:
        return "it is for other job content"
    if document["platform"] != opened.settings.platform.value:
        return f"it is for platform {document['platform']}"
    if suite.get("version") != suite_version() or suite.get("digest") != suite_digest(ROOT):
        return f"it is from another version of the suite ({suite.get('version')})"
    if document["target"].get("address") != opened.platform.address:
        return f"it is for the target {document['target'].get('address')}"
    return ""


def _age(document: Mapping[str, Any], now: datetime) -> str:
    try:
        started = datetime.fromisoformat(str(document["started"]).replace("Z", "+00:00"))
    except ValueError:
        return "it has no readable time"
    if started.tzinfo is None:
        return "its time has no zone"
    age = now - started.astimezone(timezone.utc)
    if age > BOUND:
        return f"it is {int(age.total_seconds() // 60)} minutes old, more than {int(BOUND.total_seconds() // 60)}"
    return "it is from the future" if age < -timedelta(seconds=5) else ""


def _refused(path: Path, reason: str) -> Stop:
    return Stop(Exit.NO_GO, f"clearance {path} may not be used: {reason}", remedy="launch without --clearance")
