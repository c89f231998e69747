"""`status`, `logs`, `cancel`, `jobs`: a launched job, in any later process."""

from __future__ import annotations

import contextlib
import json
import os
import sys
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from gonogo.launcher.exits import Exit, Stop
from gonogo.launcher.streams import ForReader, ReaderLeft

if TYPE_CHECKING:
    from gonogo.launcher.records import Record, Records

LaunchID = Annotated[str, typer.Argument(metavar="LAUNCH", help="The launch's ID, as `gonogo jobs` shows it.")]
AsJson = Annotated[bool, typer.Option("--json", help="The record as JSON on standard output.")]


def register(app: typer.Typer) -> None:
    """Add these commands."""
    app.command("status")(status)
    app.command("logs")(logs)
    app.command("cancel")(cancel)
    app.command("jobs")(jobs)


def status(launch: LaunchID, as_json: AsJson = False) -> int:
    """Where the job stands, or each of its splits; exit code 1 where one is in Error."""
    from gonogo.launcher.follow import settled, status_of

    records, found = _family(launch)
    for number, record in enumerate(found):
        if record.phase != "refused":
            found[number], platform = settled(records, record)
            status_of(records, found[number], platform)
    return _shown(found, as_json=as_json)


def logs(
    launch: LaunchID,
    follow: Annotated[bool, typer.Option("--follow", help="Until the job has ended.")] = False,
    tail: Annotated[int | None, typer.Option(metavar="N", min=0, help="The last N lines only.")] = None,
) -> int:
    """The job's output, both streams, as it is; exit code 1 where the job is in Error."""
    from gonogo.launcher.follow import copy_log, settled, status_of
    from gonogo.platforms.contract import JobState
    from gonogo.platforms.faults import Fault

    records, found = _family(launch)
    if len(found) > 1:
        names = ", ".join(record.id for record in found)
        raise Stop(Exit.USAGE, f"launch {launch} has {len(found)} splits, each with a log of its own: {names}")
    record, platform = settled(records, found[0])
    try:
        with contextlib.suppress(ReaderLeft):
            copy_log(platform, record.native_id or "", ForReader(), tail=tail, follow=follow)
    except Fault as fault:
        raise Stop(
            Exit.HARNESS, f"the log of {record.id} cannot be read: {fault.message}", remedy=fault.remedy
        ) from None
    state = status_of(records, record, platform).state
    return Exit.JOB_IN_ERROR if state is JobState.ERROR else Exit.OK


def cancel(
    launch: LaunchID,
    grace: Annotated[
        float, typer.Option(metavar="SECONDS", min=0.0, help="Time between the asking and the killing.")
    ] = 10.0,
    as_json: AsJson = False,
) -> int:
    """Stop the job and prove that it stopped."""
    from gonogo.launcher.follow import cancel as cancel_job
    from gonogo.launcher.follow import settled

    records, found = _family(launch)
    made = [settled(records, record) for record in found if record.phase != "refused" or len(found) == 1]
    for record, platform in made:
        with records.lock(record.id, patience=30.0):
            cancel_job(records, record, platform, grace)
    return _shown([record for record, _ in made], as_json=as_json)


def jobs(as_json: AsJson = False) -> None:
    """The launches known here, the newest first."""
    records, faults = _records().all()
    for fault in faults:
        print(f"gonogo: {fault}", file=sys.stderr)
    if as_json:
        print(json.dumps([asdict(record) for record in records], indent=2))
        return
    rows = [("LAUNCH", "PLATFORM", "STATE", "CREATED", "TARGET")]
    rows += [(one.id, one.platform, one.state, one.created, one.target.get("address", "")) for one in records]
    widths = [max(len(row[column]) for row in rows) for column in range(4)]
    for row in rows:
        print("  ".join([*(cell.ljust(width) for cell, width in zip(row[:4], widths, strict=True)), row[4]]).rstrip())


def _records() -> Records:
    from gonogo.jobs.model import Job
    from gonogo.launcher.opening import redactor_for
    from gonogo.launcher.records import Records
    from gonogo.platforms.state import state_dir

    return Records(state_dir(os.environ), redactor_for(Job(), os.environ).text)


def _family(launch: str) -> tuple[Records, list[Record]]:
    """The launch's record, or those of its splits. Raises Stop(USAGE)."""
    from gonogo.launcher.follow import known
    from gonogo.launcher.splits import family

    records = _records()
    return records, family(records, launch) or [known(records, launch)]


def _shown(records: list[Record], *, as_json: bool) -> int:
    from gonogo.launcher.follow import in_words, recorded

    if as_json:
        shown = [asdict(record) for record in records]
        print(json.dumps(shown[0] if len(shown) == 1 else shown, indent=2))
    else:
        for record in records:
            print(in_words(record, recorded(record)))
    return Exit.JOB_IN_ERROR if any(record.state == "Error" for record in records) else Exit.OK
