"""From GO to a recorded job: intent, submission, arrival. Source: GATE-01, GATE-03, GATE-04.

The record is written before the platform is asked to make anything, and again when it has: whoever comes later, after
a crash in between, finds the intent and asks the platform what became of it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from gonogo.launcher import arrival
from gonogo.launcher.clearance import judged
from gonogo.launcher.exits import Exit, Stop
from gonogo.launcher.opening import Opened, kept_settings
from gonogo.launcher.ownership import put_right
from gonogo.launcher.records import Record, Records, now
from gonogo.launcher.recovery import note_placed
from gonogo.launcher.submission import build_submission
from gonogo.platforms.contract import Placed, Submission
from gonogo.platforms.faults import Fault, LaunchLost, LaunchRefused, NotFound
from gonogo.reports.document import digest as document_digest
from gonogo.reports.document import rows_of
from gonogo.reports.rows import Row, State

#: Seconds that an in-job preflight may take once its place is there.
ARRIVAL_PATIENCE = 120.0
#: Seconds within which a platform that lost a submission must say whether it has the job.
LOST_PATIENCE = 30.0


@dataclass
class Placing:
    """One submission. `record` is None until the intent is written; `keep` is given the report with its arrival
    rows."""

    opened: Opened
    records: Records
    launch_id: str
    document: Mapping[str, Any]
    keep: Callable[[Mapping[str, Any]], None]
    environment: Mapping[str, str]
    strict: bool = False
    record: Record | None = field(default=None, init=False)

    def place(self) -> Record:
        """Submit the job and prove what was deferred. Raises Stop: NO_GO on arrival, REFUSED, USAGE, HARNESS."""
        rows = rows_of(self.document)
        expected = arrival.expectations(rows, self.opened.job)
        _demand_all_asked(rows, len(expected))
        submission = build_submission(
            self.opened.job, self.opened.loaded.digest, self.launch_id, self.environment, expected
        )
        record = self._intent()
        note_placed(self.records, record, self._submitted(submission, record))
        if submission.preflight:
            self._arrive(submission, record, rows)
        return record

    def adopt(self, placed: Placed) -> Record:
        """Record a job that is on the platform already."""
        record = self._intent()
        note_placed(self.records, record, placed)
        return record

    def demand_own(self, placed: Placed) -> None:
        """Raises Stop(USAGE) where the job found under this ID was made from other content, or does not say."""
        if placed.details.get("digest") == self.opened.loaded.digest:
            return
        message = f"launch ID {self.launch_id} is taken by another job on {placed.address} ({placed.native_id})"
        raise Stop(Exit.USAGE, f"{message}; nothing was submitted", remedy="choose another --id")

    def _intent(self) -> Record:
        before = self.records.read(self.launch_id)
        opened, document = self.opened, self.document
        record = Record(
            id=self.launch_id,
            phase="intent",
            job={"name": opened.job.name, "file": opened.loaded.file or "", "digest": opened.loaded.digest},
            platform=opened.settings.platform.value,
            target={"address": opened.platform.address, "identity": str(document["target"].get("identity") or "")},
            settings=kept_settings(opened),
            clearance={
                "verdict": document["verdict"],
                "report": document_digest(document),
                "started": document["started"],
                "because": document["because"],
                "deferred": [row.name for row in rows_of(document) if row.state is State.DEFERRED],
            },
            created=now(),
            owes_ownership=self._owed(before),
            attempt=before.attempt + 1 if before is not None else 1,
        )
        self.record = record
        self.records.write(record)
        return record

    def _owed(self, before: Record | None) -> dict[str, Any]:
        """What this launch will owe; else what an earlier attempt of the same ID does. Raises Stop(REFUSED)."""
        try:
            owed = self.opened.platform.owed(self.opened.job)
        except Fault as fault:
            raise Stop(Exit.REFUSED, f"{fault.message}; nothing was submitted", remedy=fault.remedy) from None
        return owed or (before.owes_ownership if before is not None else {})

    def _submitted(self, submission: Submission, record: Record) -> Placed:
        try:
            return self.opened.platform.submit(submission)
        except LaunchRefused as fault:
            with self.records.editing(record):
                record.phase, record.reason, record.state = "refused", fault.message, "Error"
            put_right(self.records, record, self.opened.platform)
            detail = f" ({fault.detail})" if fault.detail and fault.detail not in fault.message else ""
            raise Stop(Exit.REFUSED, f"{fault.message}{detail}; nothing was submitted", remedy=fault.remedy) from None
        except LaunchLost as fault:
            placed = self._asked_again(fault)
            if placed is None:
                message = f"{fault.message}; the platform knows no such job"
                raise Stop(Exit.REFUSED, message, remedy=fault.remedy) from None
            self.demand_own(placed)
            return placed

    def _asked_again(self, lost: LaunchLost) -> Placed | None:
        ends = time.monotonic() + LOST_PATIENCE
        while True:
            try:
                return self.opened.platform.find(self.launch_id)
            except Fault as fault:
                if time.monotonic() > ends:
                    message = f"{lost.message}; whether job {self.launch_id} exists is not known: {fault.message}"
                    raise Stop(Exit.REFUSED, message, remedy=f"gonogo status {self.launch_id}") from None
            time.sleep(0.5)

    def _arrive(self, submission: Submission, record: Record, rows: list[Row]) -> None:
        platform, native_id = self.opened.platform, record.native_id or ""
        try:
            result = arrival.wait_for_result(platform, native_id, submission.preflight_nonce, ARRIVAL_PATIENCE)
        except Fault as fault:
            raise self._not_proven(record, fault.message) from None
        settled = arrival.settle(rows, result)
        verdict = judged(settled, self.opened, self.document, strict=self.strict)
        self.keep(self.opened.redactor.data(arrival.with_verdict(self.document, verdict)))
        if result.passed and verdict.go:
            return
        broken = [row for row in settled if row.stage == "arrival" and row.state in (State.FAILED, State.UNVERIFIED)]
        told = "; ".join(f"{row.name}: {row.message}" for row in broken)
        raise self._not_proven(record, told or arrival.tail_of(platform, native_id) or "no answer")

    def _not_proven(self, record: Record, why: str) -> Stop:
        """Release the place; what to say of it."""
        trouble = self._release(record, f"NO-GO on arrival: {why}")
        if not trouble:
            return Stop(Exit.NO_GO, f"NO-GO on arrival: {why}; the command never started, the place was released")
        message = f"NO-GO on arrival: {why}; job {record.id} could not be removed: {trouble}"
        return Stop(Exit.REFUSED, message, remedy=f"gonogo cancel {record.id}")

    def _release(self, record: Record, reason: str) -> str:
        """Stop and remove the job and note its end; what stood against it, else empty."""
        platform, native_id = self.opened.platform, record.native_id or ""
        try:
            if not platform.status(native_id).state.ended:
                platform.cancel(native_id, grace=2.0)
            platform.release(native_id)
        except NotFound:
            pass  # gone already
        except Fault as fault:
            return fault.message
        with self.records.editing(record):
            record.phase, record.state, record.ended, record.reason = "ended", "Error", now(), reason
        put_right(self.records, record, platform)
        return ""


def _demand_all_asked(rows: list[Row], answerable: int) -> None:
    deferred = [row.name for row in rows if row.state is State.DEFERRED]
    if len(deferred) != answerable:
        raise Stop(Exit.HARNESS, f"the in-job preflight cannot ask {', '.join(deferred)}; nothing was submitted")
