"""`diagnose`: why a launched job ended as it did."""

from __future__ import annotations

import json
import os
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from gonogo.launcher.exits import Exit, Stop

if TYPE_CHECKING:
    from gonogo.platforms.contract import JobState
    from gonogo.platforms.diagnosis import Diagnosis


def register(app: typer.Typer) -> None:
    """Add this command."""
    app.command("diagnose")(diagnose)


def diagnose(
    launch: Annotated[str, typer.Argument(metavar="LAUNCH", help="The launch's ID, as `gonogo jobs` shows it.")],
    as_json: Annotated[bool, typer.Option("--json", help="The diagnosis as JSON on standard output.")] = False,
) -> int:
    """Why the job ended: class, cause, evidence and the next step; exit code 1 where it is in Error."""
    from gonogo.fixtures.catalogue import find
    from gonogo.jobs.model import Job
    from gonogo.launcher.opening import redactor_for
    from gonogo.platforms.contract import JobState

    state, diagnosis = _diagnosed(launch)
    found = redactor_for(Job(), os.environ).data(asdict(diagnosis))
    if as_json:
        print(json.dumps({"launch": launch, "state": state.value, **found}, indent=2))
    else:
        print(f"{launch} {state.value}: {found['cause']}" + (f" [{found['kind']}]" if found["kind"] else ""))
        for line in found["evidence"]:
            print(f"  evidence: {line}")
        if found["next_step"]:
            print(f"  next: {found['next_step']}")
        if found["row"] and find(found["row"]) is not None:
            print(f"  asked before a launch by {found['row']}: gonogo explain {found['row']}")
    return Exit.JOB_IN_ERROR if state is JobState.ERROR else Exit.OK


def _diagnosed(launch: str) -> tuple[JobState, Diagnosis]:
    """The job's state and the diagnosis; a job that is gone, or was never made, is read from its record."""
    from gonogo.launcher.follow import known, recorded, settled, status_of
    from gonogo.launcher.records import Records
    from gonogo.platforms import diagnosis
    from gonogo.platforms.contract import JobState, Status
    from gonogo.platforms.faults import Fault
    from gonogo.platforms.state import state_dir

    records = Records(state_dir(os.environ))
    record = known(records, launch)
    if record.phase == "refused":
        return JobState.ERROR, diagnosis.diagnose(Status(JobState.ERROR, "refused", None, record.reason), "")
    record, platform = settled(records, record)
    status = status_of(records, record, platform)
    try:
        return status.state, platform.diagnose(record.native_id or "")
    except Fault as fault:
        if status.state.ended:
            return status.state, diagnosis.diagnose(recorded(record), "")
        raise Stop(Exit.HARNESS, fault.message, remedy=fault.remedy) from None
