"""Giving back what a job as root has written, once it has ended, by whichever command comes first. Source: ID-04,
ID-08, GATE-09.

A launch notes what it will owe before anything is submitted, so that a crash at any moment leaves the note behind.
"""

from __future__ import annotations

from collections.abc import Callable

from gonogo.launcher.records import Record, Records
from gonogo.launcher.recovery import demand_same_target
from gonogo.platforms.contract import Platform
from gonogo.platforms.faults import Fault, NotFound


def put_right(records: Records, record: Record, platform: Platform) -> None:
    """Do what the launch owes; its job must have ended, or never have been made. Where that fails, the record keeps
    the debt and says why."""
    if not record.owes_ownership:
        return
    trouble = ""
    try:
        demand_same_target(platform, record)
        platform.put_right(record.owes_ownership)
    except Fault as fault:
        trouble = fault.message
    with records.editing(record):
        record.owes_ownership = {**record.owes_ownership, "trouble": trouble} if trouble else {}


def still_owed(record: Record) -> str:
    """One clause for a person; empty where nothing is owed, or not yet."""
    trouble = record.owes_ownership.get("trouble", "")
    return f"what it wrote still belongs to root ({trouble}), which the next command tries again" if trouble else ""


def settle_earlier(records: Records, platform: Platform, say: Callable[[str], None]) -> list[str]:
    """Put right what earlier launches on this target owe, where their jobs have ended. Returns the IDs of those that
    still owe it; the platform's silence about a job counts as owing."""
    owing = [one for one in records.all()[0] if one.owes_ownership and _same_target(one, platform)]
    left = []
    for record in owing:
        if _goes_on(records, record, platform):
            continue
        put_right(records, record, platform)
        if record.owes_ownership:
            left.append(record.id)
            say(f"{record.id}: {still_owed(record)}")
        else:
            say(f"{record.id}: what it wrote as root was given to the submitter")
    return left


def _same_target(record: Record, platform: Platform) -> bool:
    try:
        demand_same_target(platform, record)
    except Fault:
        return False
    return bool(record.target.get("identity")) or record.target.get("address") == platform.address


def _goes_on(records: Records, record: Record, platform: Platform) -> bool:
    """Whether that job may still write. One that nobody can say anything of is tried: giving back twice harms
    nothing, and what it writes later is given back with its end."""
    if record.phase in ("ended", "refused"):
        return False
    if records.holder(record.id):
        return True
    try:
        placed = platform.find(record.id) if record.native_id is None else None
        native_id = record.native_id or (placed.native_id if placed is not None else None)
        return native_id is not None and not platform.status(native_id).state.ended
    except NotFound:
        return False
    except Fault:
        return True
