"""What became of a launch that was interrupted between intent and record, and whether the target is still the same
one. Source: GATE-03."""

from __future__ import annotations

from gonogo.launcher.exits import Exit, Stop
from gonogo.launcher.records import Record, Records, now
from gonogo.platforms.contract import Placed, Platform
from gonogo.platforms.faults import Fault, Unreachable


def demand_same_target(platform: Platform, record: Record) -> None:
    """Another daemon at the same address, or another machine with the same home folder, cannot speak for a job.

    Raises Unreachable where the target is another one than the record's, and what `identity` raises.
    """
    recorded = record.target.get("identity", "")
    if not recorded:
        return
    found = platform.identity()
    if found != recorded:
        raise Unreachable(
            f"launch {record.id} is on {recorded} ({record.target.get('address', '')}), and {platform.address} is "
            f"{found}",
            remedy="ask where it was launched",
        )


def recover(platform: Platform, records: Records, record: Record) -> Placed | None:
    """The job of a launch whose record says no more than `intent`, noted in the record now; None where none was made.

    Raises Stop(HARNESS) where the platform does not answer: then nothing may be submitted either.
    """
    try:
        demand_same_target(platform, record)
        placed = platform.find(record.id)
    except Fault as fault:
        raise Stop(
            Exit.HARNESS,
            f"launch {record.id} was interrupted; what became of it is not known: {fault.message}",
            remedy=fault.remedy,
        ) from None
    if placed is not None:
        note_placed(records, record, placed)
    return placed


def note_placed(records: Records, record: Record, placed: Placed) -> None:
    """Note that the platform has the job."""
    with records.editing(record):
        if record.phase == "intent":
            record.phase, record.native_id, record.address = "submitted", placed.native_id, placed.address
            record.submitted = now()
            record.identity = placed.details.get("user", record.identity)
