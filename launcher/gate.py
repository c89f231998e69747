"""The gate: the suite first, the submission only on GO, one job for one launch ID whatever interrupts. Source:
GATE-01 to 03.

The record is written before the platform is asked to make anything, and again when it has: whoever comes later, after
a crash in between, finds the intent and asks the platform what became of it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from gonogo.launcher import arrival
from gonogo.launcher.clearance import accept
from gonogo.launcher.exits import Exit, Stop
from gonogo.launcher.opening import Opened, kept_settings
from gonogo.launcher.records import Record, Records, now
from gonogo.launcher.recovery import recover
from gonogo.launcher.submission import build_submission
from gonogo.platforms.contract import Placed, Submission
from gonogo.platforms.faults import Fault, LaunchLost, LaunchRefused
from gonogo.reports.document import digest as document_digest
from gonogo.reports.document import rows_of
from gonogo.reports.rows import Row, State

#: Seconds that an in-job preflight may take once its place is there.
ARRIVAL_PATIENCE = 120.0


@dataclass(frozen=True)
class Launched:
    """What came of a launch. `fresh` is false where the job was there already."""

    record: Record
    fresh: bool
    note: str = ""


@dataclass
class Gate:
    """One launch of one job. `prove` runs the suite and returns its document; `say` shows a line to the person."""

    opened: Opened
    records: Records
    prove: Callable[[], Mapping[str, Any]]
    say: Callable[[str], None]
    show_review: Callable[[Submission], None]
    clearance: Path | None = None
    strict: bool = False
    replace: bool = False
    environment: Mapping[str, str] = field(default_factory=lambda: os.environ)

    def launch(self, launch_id: str) -> Launched:
        """Raises Stop: USAGE for an ID of another job, NO_GO, REFUSED; KeyboardInterrupt where it was interrupted."""
        with self.records.lock(launch_id):
            known = self._reconciled(launch_id)
            if known is not None:
                return known
            document = self._cleared()
            return self._submitted(launch_id, document)

    def _reconciled(self, launch_id: str) -> Launched | None:
        """The job of this ID that is there already, None where one may be made."""
        record = self.records.read(launch_id)
        if record is None:
            return None
        if record.job.get("digest") != self.opened.loaded.digest and record.phase != "refused":
            raise Stop(Exit.USAGE, f"launch ID {launch_id} belongs to another job", remedy="choose another --id")
        if record.phase == "intent":
            return self._recovered(record)
        if record.phase == "refused" or (self.replace and self._has_ended(record)):
            return None
        return Launched(record, fresh=False, note=f"already launched at {record.submitted}; nothing new was submitted")

    def _recovered(self, record: Record) -> Launched | None:
        placed = recover(self.opened.platform, self.records, record)
        if placed is None:
            return None
        return Launched(record, fresh=False, note="an interrupted launch had submitted it; nothing new was submitted")

    def _has_ended(self, record: Record) -> bool:
        if record.phase == "ended" or record.native_id is None:
            return True
        try:
            return self.opened.platform.status(record.native_id).state.ended
        except Fault as fault:
            raise Stop(Exit.HARNESS, f"whether {record.id} has ended is not known: {fault.message}") from None

    def _cleared(self) -> Mapping[str, Any]:
        if self.clearance is not None:
            moment = datetime.now(timezone.utc)
            return accept(self.clearance, self.opened, strict=self.strict, today=moment.date(), now=moment)
        document = self.prove()
        if document["verdict"] != "GO":
            raise Stop(Exit.NO_GO, f"{document['verdict']}: nothing was submitted")
        return document

    def _submitted(self, launch_id: str, document: Mapping[str, Any]) -> Launched:
        rows = rows_of(document)
        expected = arrival.expectations(rows, self.opened.job)
        self._demand_all_asked(rows, len(expected))
        job, digest = self.opened.job, self.opened.loaded.digest
        submission = build_submission(job, digest, launch_id, self.environment, expected)
        self.show_review(submission)
        record = self._intent(launch_id, document)
        placed = self._place(submission, record)
        record.phase, record.native_id, record.address, record.submitted = (
            "submitted",
            placed.native_id,
            placed.address,
            now(),
        )
        self.records.write(record)
        if submission.preflight:
            self._arrive(submission, record, rows)
        return Launched(record, fresh=True)

    def _demand_all_asked(self, rows: list[Row], answerable: int) -> None:
        deferred = [row for row in rows if row.state is State.DEFERRED]
        if len(deferred) != answerable:
            raise Stop(Exit.HARNESS, f"the in-job preflight cannot ask {', '.join(row.name for row in deferred)}")

    def _intent(self, launch_id: str, document: Mapping[str, Any]) -> Record:
        before = self.records.read(launch_id)
        record = Record(
            id=launch_id,
            phase="intent",
            job={
                "name": self.opened.job.name,
                "file": self.opened.loaded.file or "",
                "digest": self.opened.loaded.digest,
            },
            platform=self.opened.settings.platform.value,
            target={"address": self.opened.platform.address, "identity": str(document["target"].get("identity", ""))},
            settings=kept_settings(self.opened.settings),
            clearance={
                "verdict": document["verdict"],
                "report": document_digest(document),
                "started": document["started"],
                "because": document["because"],
            },
            created=now(),
            attempt=before.attempt + 1 if before is not None else 1,
        )
        self.records.write(record)
        return record

    def _place(self, submission: Submission, record: Record) -> Placed:
        platform = self.opened.platform
        try:
            if self.replace:
                self._remove_earlier(record)
            return platform.submit(submission)
        except LaunchRefused as fault:
            record.phase, record.reason, record.state = "refused", fault.message, "Error"
            self.records.write(record)
            detail = f" ({fault.detail})" if fault.detail and fault.detail not in fault.message else ""
            raise Stop(Exit.REFUSED, f"{fault.message}{detail}; nothing was submitted", remedy=fault.remedy) from None
        except LaunchLost as fault:
            placed = self._asked_again(record, fault)
            if placed is not None:
                return placed
            raise Stop(Exit.REFUSED, f"{fault.message}; the platform knows no such job", remedy=fault.remedy) from None

    def _remove_earlier(self, record: Record) -> None:
        earlier = self.opened.platform.find(record.id)
        if earlier is not None:
            self.opened.platform.release(earlier.native_id)

    def _asked_again(self, record: Record, lost: LaunchLost) -> Placed | None:
        try:
            return self.opened.platform.find(record.id)
        except Fault as fault:
            message = f"{lost.message}; whether job {record.id} exists is not known: {fault.message}"
            raise Stop(Exit.REFUSED, message, remedy=f"gonogo status {record.id}") from None

    def _arrive(self, submission: Submission, record: Record, rows: list[Row]) -> None:
        platform, native_id = self.opened.platform, record.native_id or ""
        try:
            result = arrival.wait_for_result(platform, native_id, submission.preflight_nonce, ARRIVAL_PATIENCE)
        except Fault as fault:
            self._release(record, fault.message)
            raise Stop(Exit.NO_GO, f"{fault.message}; the job was removed") from None
        settled = arrival.settle(rows, result)
        open_rows = [row for row in settled if row.state in (State.FAILED, State.UNVERIFIED) and row.stage == "arrival"]
        if result.passed and not open_rows:
            return
        words = arrival.tail_of(platform, native_id)
        self._release(record, "the in-job preflight did not pass")
        told = "; ".join(f"{row.name}: {row.message}" for row in open_rows) or words or "no answer"
        raise Stop(Exit.NO_GO, f"NO-GO on arrival: {told}; the command never started, the place was released")

    def _release(self, record: Record, reason: str) -> None:
        platform, native_id = self.opened.platform, record.native_id or ""
        try:
            if not platform.status(native_id).state.ended:
                platform.cancel(native_id, grace=2.0)
            platform.release(native_id)
        except Fault as fault:
            reason = f"{reason}; it could not be removed: {fault.message}"
        record.phase, record.state, record.ended, record.reason = "ended", "Error", now(), reason
        self.records.write(record)
