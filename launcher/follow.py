"""A launched job in a later process: where it stands, its log, its end. Source: GATE-04 to GATE-06, GATE-09."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import BinaryIO

from gonogo.launcher.exits import Exit, Stop
from gonogo.launcher.gate import recover
from gonogo.launcher.opening import reopen
from gonogo.launcher.records import Record, Records, now
from gonogo.platforms.contract import JobState, Platform, Status
from gonogo.platforms.faults import Fault, NotFound
from gonogo.platforms.probe.preflight import strip_preflight

#: A platform may be silent for this long while a job is watched, seconds: a daemon restarts, a network drops.
SILENCE = 300.0
_TICK = 0.5


def known(records: Records, launch_id: str) -> Record:
    """The record of a launch. Raises Stop(USAGE) for an ID that is not known here."""
    record = records.read(launch_id)
    if record is None:
        raise Stop(Exit.USAGE, f"no launch {launch_id} is known here", remedy="gonogo jobs")
    return record


def settled(records: Records, record: Record) -> tuple[Record, Platform]:
    """The record, and its platform open. An interrupted launch is looked up on the platform first.

    Raises Stop(USAGE) where it turns out that no job was ever made.
    """
    platform = reopen(record)
    if record.phase == "intent" and recover(platform, records, record) is None:
        raise Stop(
            Exit.USAGE, f"launch {record.id} was interrupted before anything was submitted", remedy="launch it again"
        )
    if record.native_id is None:
        raise Stop(Exit.USAGE, f"launch {record.id} made no job: {record.reason}")
    return record, platform


def status_of(records: Records, record: Record, platform: Platform) -> Status:
    """Where the job stands now, noted in its record. Raises Stop(HARNESS) where the platform is silent.

    A job that is gone from its platform keeps the end that was seen; without one it is an Error.
    """
    if record.phase == "ended":
        return recorded(record)
    try:
        status = platform.status(record.native_id or "")
    except NotFound as fault:
        status = gone(record, fault.message)
    except Fault as fault:
        raise Stop(Exit.HARNESS, f"Unknown: {fault.message}", remedy=fault.remedy) from None
    return note(records, record, status)


def recorded(record: Record) -> Status:
    """The end that the record holds."""
    return Status(JobState(record.state), record.native_state, record.exit_code, record.reason)


def gone(record: Record, message: str) -> Status:
    """What a job that the platform has no more is called."""
    if record.canceled_by_user:
        return Status(JobState.CANCELED, "removed", record.exit_code, "canceled")
    return Status(JobState.ERROR, "removed", None, f"{message}: it was removed by hand, how it ended is not known")


def in_words(record: Record, status: Status) -> str:
    """`t1 Error (exited, exit code 3): reason`: our word, the platform's own, and what more is known."""
    known = [status.native] if status.native else []
    if status.exit_code is not None and "exit code" not in status.native:
        known.append(f"exit code {status.exit_code}")
    told = f" ({', '.join(known)})" if known else ""
    said = status.state is JobState.COMPLETE or status.reason == f"exit code {status.exit_code}"
    reason = f": {status.reason}" if status.reason and not said else ""
    return f"{record.id} {status.state.value}{told}{reason}"


def note(records: Records, record: Record, status: Status) -> Status:
    """Keep what was seen; a job that we canceled is Canceled, whatever its platform calls the end."""
    if record.canceled_by_user and status.state is JobState.ERROR:
        status = Status(JobState.CANCELED, status.native, status.exit_code, status.reason)
    changed = (record.state, record.native_state, record.exit_code) != (
        status.state.value,
        status.native,
        status.exit_code,
    )
    record.state, record.native_state = status.state.value, status.native
    record.exit_code, record.reason = status.exit_code, status.reason
    if status.state.ended:
        record.phase, record.ended = "ended", record.ended or now()
    if changed or status.state.ended:
        records.write(record)
    return status


def cancel(records: Records, record: Record, platform: Platform, grace: float) -> Status:
    """Stop the job and prove it. Raises Stop(HARNESS) where it could not be proven."""
    if record.phase == "ended":
        return recorded(record)
    before = status_of(records, record, platform)
    if before.state.ended:
        return before
    record.canceled_by_user = True
    records.write(record)
    try:
        status = platform.cancel(record.native_id or "", grace=grace)
    except NotFound as fault:
        status = gone(record, fault.message)
    except Fault as fault:
        raise Stop(Exit.HARNESS, f"cancel of {record.id} is not proven: {fault.message}", remedy=fault.remedy) from None
    return note(records, record, status)


def copy_log(platform: Platform, native_id: str, out: BinaryIO, *, tail: int | None, follow: bool) -> None:
    """Write the job's output as it is, without the in-job preflight's lines. Raises a Fault."""
    for chunk in strip_preflight(platform.logs(native_id, tail=tail, follow=follow)):
        out.write(chunk)
        out.flush()


@dataclass
class Watch:
    """Follows one job to its end: its states by `say`, its log into `out`."""

    records: Records
    record: Record
    platform: Platform
    say: Callable[[str], None]
    out: BinaryIO | None
    silence: float = SILENCE
    _last: str = field(default="", init=False)

    def run(self) -> Status:
        """Returns the end. Raises Stop(HARNESS) when the platform has been silent for too long."""
        streamer = self._start_log()
        silent_since: float | None = None
        while True:
            try:
                status = note(self.records, self.record, self._ask())
                silent_since = None
            except Fault as fault:
                silent_since = silent_since or time.monotonic()
                self._tell(f"Unknown: {fault.message}")
                if time.monotonic() - silent_since > self.silence:
                    raise Stop(Exit.HARNESS, f"{fault.message}; given up after {self.silence:g} s") from None
                time.sleep(_TICK)
                continue
            self._tell(in_words(self.record, status))
            if status.state.ended:
                if streamer is not None:
                    streamer.join(timeout=10.0)
                return status
            time.sleep(_TICK)

    def _ask(self) -> Status:
        try:
            return self.platform.status(self.record.native_id or "")
        except NotFound as fault:
            return gone(self.record, fault.message)

    def _tell(self, words: str) -> None:
        if words != self._last:
            self._last = words
            self.say(words)

    def _start_log(self) -> threading.Thread | None:
        if self.out is None:
            return None
        thread = threading.Thread(target=self._stream, name="gonogo-log", daemon=True)
        thread.start()
        return thread

    def _stream(self) -> None:
        assert self.out is not None
        try:
            copy_log(self.platform, self.record.native_id or "", self.out, tail=None, follow=True)
        except (Fault, OSError) as fault:
            self.say(f"the log cannot be followed further: {fault}")
