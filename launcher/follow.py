"""A launched job in a later process: where it stands, its log, its end. Source: GATE-04, GATE-05, GATE-09."""

from __future__ import annotations

from typing import Protocol

from gonogo.launcher.exits import Exit, Stop
from gonogo.launcher.opening import reopen
from gonogo.launcher.ownership import put_right, still_owed
from gonogo.launcher.records import Record, Records, now
from gonogo.launcher.recovery import demand_same_target, recover
from gonogo.platforms.contract import JobState, Platform, Status
from gonogo.platforms.faults import Fault, NotFound
from gonogo.platforms.probe.preflight import strip_preflight


class Sink(Protocol):
    """Where a log goes: `sys.stdout.buffer`, or what counts its bytes on the way."""

    def write(self, chunk: bytes, /) -> int: ...

    def flush(self) -> None: ...


def known(records: Records, launch_id: str) -> Record:
    """The record of a launch. Raises Stop(USAGE) for an ID that is not known here."""
    record = records.read(launch_id)
    if record is None:
        raise Stop(Exit.USAGE, f"no launch {launch_id} is known here", remedy="gonogo jobs")
    return record


def settled(records: Records, record: Record) -> tuple[Record, Platform]:
    """The record, and its platform open. An interrupted launch is looked up on the platform first.

    Raises Stop(USAGE) where it turns out that no job was ever made, Stop(HARNESS) where the platform cannot tell.
    """
    platform = reopen(record)
    if record.phase == "intent" and recover(platform, records, record) is None:
        holder = records.holder(record.id)
        if holder:
            raise Stop(Exit.HARNESS, f"launch {record.id} is being submitted by process {holder}: ask again")
        record = known(records, record.id)  # its launcher may just have ended
    if record.phase == "intent":
        put_right(records, record, platform)
        raise Stop(
            Exit.USAGE, f"launch {record.id} was interrupted before anything was submitted", remedy="launch it again"
        )
    if record.native_id is None:
        put_right(records, record, platform)
        raise Stop(Exit.USAGE, f"launch {record.id} made no job: {record.reason}")
    return record, platform


def status_of(records: Records, record: Record, platform: Platform) -> Status:
    """Where the job stands now, noted in its record. Raises Stop(HARNESS) where the platform is silent.

    A job that is gone from its platform keeps the end that was seen; without one it is an Error.
    """
    if record.phase == "ended":
        put_right(records, record, platform)
        return recorded(record)
    try:
        demand_same_target(platform, record)
        status = asked(record, platform)
    except Fault as fault:
        raise Stop(Exit.HARNESS, f"{record.id} Unknown: {fault.message}", remedy=fault.remedy) from None
    return _noted_end(records, record, platform, note(records, record, status))


def _noted_end(records: Records, record: Record, platform: Platform, status: Status) -> Status:
    if status.state.ended:
        put_right(records, record, platform)
    return status


def asked(record: Record, platform: Platform) -> Status:
    """What the platform says, or that the job is gone from it. Raises Fault."""
    try:
        return platform.status(record.native_id or "")
    except NotFound as fault:
        demand_same_target(platform, record)
        return gone(record, fault.message)


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
    owed = f"; {still_owed(record)}" if status.state.ended and still_owed(record) else ""
    return f"{record.id} {status.state.value}{told}{reason}{owed}"


def note(records: Records, record: Record, status: Status) -> Status:
    """Keep what was seen and return it; a job that we canceled is Canceled, whatever its platform calls the end.

    An end that has been recorded stays as it is.
    """
    with records.editing(record):
        if record.phase == "ended":
            return recorded(record)
        if record.canceled_by_user and status.state is JobState.ERROR:
            status = Status(JobState.CANCELED, status.native, status.exit_code, status.reason)
        record.state, record.native_state = status.state.value, status.native
        record.exit_code, record.reason = status.exit_code, status.reason
        if status.state.ended:
            record.phase, record.ended = "ended", record.ended or now()
    return status


def cancel(records: Records, record: Record, platform: Platform, grace: float) -> Status:
    """Stop the job and prove it. Raises Stop(HARNESS) where it could not be proven."""
    before = status_of(records, record, platform)
    if before.state.ended:
        return before
    with records.editing(record):
        record.canceled_by_user = True
    try:
        status = platform.cancel(record.native_id or "", grace=grace)
    except NotFound as fault:
        status = gone(record, fault.message)
    except Fault as fault:
        raise Stop(Exit.HARNESS, f"cancel of {record.id} is not proven: {fault.message}", remedy=fault.remedy) from None
    if not status.state.ended:
        raise Stop(Exit.HARNESS, f"cancel of {record.id} is not proven: it is {status.state.value} ({status.native})")
    return _noted_end(records, record, platform, note(records, record, status))


def copy_log(platform: Platform, native_id: str, out: Sink, *, tail: int | None, follow: bool) -> None:
    """Write the job's output as it is, without the in-job preflight's lines. Raises a Fault."""
    for chunk in strip_preflight(platform.logs(native_id, tail=tail, follow=follow)):
        out.write(chunk)
        out.flush()
