"""The gate: the suite first, the submission only on GO, one job for one launch ID whatever interrupts. Source:
GATE-01 to 03."""

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
from gonogo.launcher.opening import Opened, reopen
from gonogo.launcher.ownership import settle_earlier
from gonogo.launcher.placing import Placing
from gonogo.launcher.records import Record, Records
from gonogo.launcher.recovery import note_placed, recover
from gonogo.platforms.contract import Placed, Platform
from gonogo.platforms.faults import Fault, NotFound
from gonogo.reports.document import rows_of

#: Runs the suite and returns its document; `prove(True)` runs it anew where it has run before.
Prove = Callable[..., Mapping[str, Any]]
#: Is given a document that did not come from `Prove` as it is.
Keep = Callable[[Mapping[str, Any]], None]


@dataclass(frozen=True)
class Launched:
    """What came of a launch. `fresh` is false where the job was there already; `note` says so."""

    record: Record
    fresh: bool
    note: str = ""


@dataclass
class Gate:
    """One launch of one job.

    `prove` runs the suite and returns its document; `say` shows a line to the person; `show_review` shows what a
    launch of that ID would submit; `keep` is given the document whenever it did not come from `prove` as it is.
    """

    opened: Opened
    records: Records
    prove: Prove
    say: Callable[[str], None]
    show_review: Callable[[str], None]
    keep: Keep = lambda _: None
    clearance: Path | None = None
    strict: bool = False
    replace: bool = False
    environment: Mapping[str, str] = field(default_factory=lambda: os.environ)
    _placing: Placing | None = field(default=None, init=False)

    def launch(self, launch_id: str) -> Launched:
        """Raises Stop: USAGE for an ID of another job, NO_GO, REFUSED, HARNESS; KeyboardInterrupt where interrupted."""
        with self.records.lock(launch_id, waiting=self.say):
            known = self._reconciled(launch_id)
            if known is not None:
                return known
            self.show_review(launch_id)
            self._settle_earlier()
            document = self._prepared(self._cleared())
            self._placing = Placing(
                self.opened, self.records, launch_id, document, self.keep, self.environment, strict=self.strict
            )
            found = self._already_there(launch_id, self._placing)
            if found is not None:
                return found
            return Launched(self._placing.place(), fresh=True)

    def after_interruption(self, launch_id: str) -> str:
        """The one thing that a person must know after Ctrl-C: is there a job? Asks the platform where it must."""
        record = self._placing.record if self._placing is not None else None
        if record is None:
            return "no job was made"
        try:
            placed = self.opened.platform.find(launch_id)
        except (Fault, KeyboardInterrupt):
            return f"whether job {launch_id} exists is not known: gonogo status {launch_id}"
        if placed is None:
            with self.records.editing(record):
                if record.phase == "intent":
                    record.phase, record.state, record.reason = (
                        "refused",
                        "Error",
                        "interrupted before it was submitted",
                    )
            return "no job was made"
        note_placed(self.records, record, placed)
        return f"job {launch_id} exists ({placed.native_id}): gonogo status {launch_id}, gonogo cancel {launch_id}"

    def _reconciled(self, launch_id: str) -> Launched | None:
        """The job of this ID that is recorded already, None where one may be made."""
        record = self.records.read(launch_id)
        if record is None or record.phase == "refused":
            return None
        platform = self._platform_of(record)
        if record.phase == "intent":
            if recover(platform, self.records, record) is None:
                return None
            self._demand_same_job(record)
            return Launched(record, False, "an interrupted launch had submitted it; nothing new was submitted")
        if self.replace and _has_ended(record, platform):
            return None
        self._demand_same_job(record)
        return Launched(record, False, f"already launched at {record.submitted}; nothing new was submitted")

    def _platform_of(self, record: Record) -> Platform:
        """The platform that the record's job is on, which need not be the one that is asked for now."""
        return self.opened.platform if self._on_same_target(record) else reopen(record, self.environment)

    def _on_same_target(self, record: Record) -> bool:
        here = (self.opened.settings.platform.value, self.opened.platform.address)
        return (record.platform, record.target.get("address")) == here

    def _demand_same_job(self, record: Record) -> None:
        if record.job.get("digest") != self.opened.loaded.digest:
            raise Stop(Exit.USAGE, f"launch ID {record.id} belongs to another job", remedy="choose another --id")
        if not self._on_same_target(record):
            where = f"{record.platform} ({record.target.get('address')})"
            raise Stop(Exit.USAGE, f"launch ID {record.id} belongs to a job on {where}", remedy="choose another --id")

    def _cleared(self) -> Mapping[str, Any]:
        if self.clearance is not None:
            moment = datetime.now(timezone.utc)
            accepted = accept(self.clearance, self.opened, strict=self.strict, today=moment.date(), now=moment)
            self.say(f"cleared by {self.clearance}: {accepted['because']}")
            self.keep(accepted)
            return accepted
        document = self.prove()
        if document["verdict"] != "GO":
            raise Stop(Exit.NO_GO, f"{document['verdict']}: nothing was submitted")
        return document

    def _prepared(self, document: Mapping[str, Any]) -> Mapping[str, Any]:
        """Rows that wait for the image and that the job's first step cannot ask are asked before the submission."""
        waiting = arrival.unanswerable(rows_of(document), self.opened.job)
        if not waiting:
            return document
        self.say(f"{', '.join(waiting)} can be asked when the target has the image")
        try:
            brought = self.opened.platform.prepare(self.opened.job, self.say)
        except Fault as fault:
            raise Stop(Exit.REFUSED, f"{fault.message}; nothing was submitted", remedy=fault.remedy) from None
        document = self.prove(True) if brought else document
        if document["verdict"] != "GO":
            raise Stop(Exit.NO_GO, f"{document['verdict']}: nothing was submitted")
        return document

    def _settle_earlier(self) -> None:
        """Give back what earlier launches as root have left (ID-08). What still is owed then is the suite's to say;
        a clearance from before knows nothing of it."""
        left = settle_earlier(self.records, self.opened.platform, self.say)
        if left and self.clearance is not None:
            message = f"ID-08: launch {left[0]} still owes the ownership of its files; nothing was submitted"
            raise Stop(Exit.NO_GO, message, remedy=f"gonogo status {left[0]}")

    def _already_there(self, launch_id: str, placing: Placing) -> Launched | None:
        """A job of this ID that no record here tells of: launched from another state folder, or the record is lost."""
        platform = self.opened.platform
        try:
            placed = platform.find(launch_id)
            if placed is None:
                return None
            if self.replace:
                _remove_ended(platform, launch_id, placed)
                return None
        except Fault as fault:
            message = f"whether a job {launch_id} exists already is not known: {fault.message}; nothing was submitted"
            raise Stop(Exit.REFUSED, message, remedy=fault.remedy) from None
        placing.demand_own(placed)
        record = placing.adopt(placed)
        return Launched(record, False, f"is on {platform.address} already; nothing new was submitted")


def _has_ended(record: Record, platform: Platform) -> bool:
    if record.phase == "ended" or record.native_id is None:
        return True
    try:
        return platform.status(record.native_id).state.ended
    except NotFound:
        return True
    except Fault as fault:
        raise Stop(Exit.HARNESS, f"whether {record.id} has ended is not known: {fault.message}") from None


def _remove_ended(platform: Platform, launch_id: str, placed: Placed) -> None:
    """Make room for a job of the same ID. Raises Stop(USAGE) while the earlier one goes on."""
    status = platform.status(placed.native_id)
    if not status.state.ended:
        raise Stop(
            Exit.USAGE,
            f"job {launch_id} on {platform.address} has not ended ({status.state.value}): it is not replaced",
            remedy=f"gonogo cancel {launch_id}, or launch under another --id",
        )
    platform.release(placed.native_id)
