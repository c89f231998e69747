"""Parallel splits (GATE-08): `splits: N` makes N jobs of one file, `{split}` in the command being 0 to N-1.

Each split is a launch of its own, `<id>-<split>`, with its own record. Launching the same ID again submits only the
splits that failed, were canceled, or never came to be.
"""

from __future__ import annotations

from dataclasses import dataclass

from gonogo.jobs.model import Job
from gonogo.launcher.exits import Exit, Stop
from gonogo.launcher.opening import Opened
from gonogo.launcher.records import Record, Records

_PLACE = "{split}"
#: The states of a split that is launched again when its ID is.
_AGAIN = frozenset({"Error", "Canceled"})


@dataclass(frozen=True)
class Split:
    """One of the jobs: its launch ID, what is opened for it, and whether an earlier, failed one is replaced."""

    launch_id: str
    opened: Opened
    replaces: bool


def splits_of(opened: Opened, launch_id: str, records: Records, *, replace_all: bool = False) -> list[Split]:
    """The jobs that this launch is made of: the job itself where it has no splits. Raises Stop(USAGE) for a long ID."""
    count = opened.job.splits or 1
    if count == 1:
        return [Split(launch_id, _opened_for(opened, 0), replace_all)]
    names = [f"{launch_id}-{number}" for number in range(count)]
    if len(names[-1]) > 40:
        raise Stop(
            Exit.USAGE, f"launch ID {launch_id!r} is too long for {count} splits: {names[-1]!r} has over 40 characters"
        )
    return [
        Split(name, _opened_for(opened, number), replace_all or _failed(records.read(name)))
        for number, name in enumerate(names)
    ]


def split_command(job: Job, number: int) -> Job:
    """The job with `{split}` in its command filled in."""
    command = job.command
    if isinstance(command, str):
        filled: str | list[str] = command.replace(_PLACE, str(number))
    else:
        filled = [word.replace(_PLACE, str(number)) for word in command]
    return job.model_copy(update={"command": filled, "splits": None})


def family(records: Records, launch_id: str) -> list[Record]:
    """The records of that ID: its own, or those of its splits in order. Empty where none is known."""
    own = records.read(launch_id)
    if own is not None:
        return [own]
    found: list[Record] = []
    while (record := records.read(f"{launch_id}-{len(found)}")) is not None:
        found.append(record)
    return found


def _opened_for(opened: Opened, number: int) -> Opened:
    return opened.with_job(split_command(opened.job, number))


def _failed(record: Record | None) -> bool:
    return record is not None and record.phase == "ended" and record.state in _AGAIN
