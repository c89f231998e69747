"""`launch`: the suite, then the submission, only on GO."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from gonogo.launcher.commands.check import DockerHost, PlatformName, Reports, Sets, Strict, pytest_options, run, show
from gonogo.launcher.exits import Exit, Stop


def register(app: typer.Typer) -> None:
    """Add this command."""
    app.command("launch")(launch)


def launch(
    job: Annotated[Path, typer.Argument(metavar="JOB", help="The job file.")],
    id: Annotated[str | None, typer.Option("--id", metavar="ID", help="Name of the launch; makes one job.")] = None,
    platform: PlatformName = None,
    sets: Sets = None,
    docker_host: DockerHost = None,
    clearance: Annotated[
        Path | None, typer.Option(metavar="FILE.json", help="A passed report, under 15 min old.")
    ] = None,
    watch: Annotated[bool, typer.Option("--watch", help="Follow the job to its end.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print what would be submitted, and stop.")] = False,
    replace: Annotated[bool, typer.Option("--replace", help="Run an ID again whose job has ended.")] = False,
    report: Reports = None,
    deadline: Annotated[str | None, typer.Option(metavar="SECONDS")] = None,
    probe_timeout: Annotated[str | None, typer.Option(metavar="SECONDS")] = None,
    strict: Strict = False,
    smoke_image: Annotated[str | None, typer.Option(metavar="REF")] = None,
    pull: Annotated[bool, typer.Option("--pull", help="Allow pulling images before the launch.")] = False,
    policy: Annotated[Path | None, typer.Option(metavar="FILE")] = None,
    waivers: Annotated[Path | None, typer.Option(metavar="FILE")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="The record on standard output.")] = False,
) -> int:
    """Launch the job if the suite says GO; exactly one job for one ID."""
    from gonogo.launcher.gate import Gate
    from gonogo.launcher.opening import Asked, open_job
    from gonogo.launcher.records import Records, checked_id
    from gonogo.launcher.submission import launch_id_for
    from gonogo.platforms.state import state_dir

    given: dict[str, Any] = {
        "docker_host": docker_host,
        "deadline": deadline,
        "probe_timeout": probe_timeout,
        "smoke_image": smoke_image,
        "strict": strict or None,
        "pull": pull or None,
    }
    opened = open_job(Asked(job, platform, tuple(sets or ()), given))
    launch_id = checked_id(launch_id_for(opened.job, id))
    if dry_run:
        return _dry_run(opened, launch_id)
    _say(f"launch {launch_id}")
    options = pytest_options(
        set=[*(sets or []), f"id={launch_id}"], report=report, policy=policy, waivers=waivers, **given
    )  # fmt: skip

    def prove() -> dict[str, Any]:
        document = run(job, opened.settings.platform.value, options, progress=not as_json)
        if not as_json or document["verdict"] != "GO":
            show(document, report or [], quiet=True, as_json=False)
        return document

    gate = Gate(
        opened,
        Records(state_dir(os.environ)),
        prove,
        _say,
        lambda submission: _review(submission, opened),
        clearance=clearance,
        strict=strict,
        replace=replace,
    )
    try:
        launched = gate.launch(launch_id)
    except KeyboardInterrupt:
        raise Stop(Exit.INTERRUPTED, f"interrupted; {_what_exists(gate, launch_id)}") from None
    return _after(gate, launched, watch=watch, as_json=as_json)


def _dry_run(opened: Any, launch_id: str) -> int:
    from gonogo.launcher.submission import build_submission
    from gonogo.platforms.faults import Fault

    submission = build_submission(opened.job, opened.loaded.digest, launch_id, os.environ)
    try:
        text = opened.platform.render(submission)
    except Fault as fault:
        raise Stop(Exit.NO_GO, fault.message, remedy=fault.remedy) from None
    print(opened.redactor.text(text))
    return Exit.OK


def _review(submission: Any, opened: Any) -> None:
    from gonogo.launcher.submission import review

    for label, text in review(submission, opened.settings.platform.value, opened.platform.address):
        _say(f"  {label:<12} {opened.redactor.text(text)}")


def _what_exists(gate: Any, launch_id: str) -> str:
    """The one thing that a person must know after Ctrl-C: is there a job?"""
    from gonogo.platforms.faults import Fault

    try:
        placed = gate.opened.platform.find(launch_id)
    except (Fault, KeyboardInterrupt):
        return f"whether job {launch_id} exists is not known: gonogo status {launch_id}"
    if placed is None:
        return "no job was made"
    return f"job {launch_id} exists ({placed.native_id}): gonogo status {launch_id}, gonogo cancel {launch_id}"


def _after(gate: Any, launched: Any, *, watch: bool, as_json: bool) -> int:
    record = launched.record
    if launched.note:
        _say(f"{record.id}: {launched.note}")
    else:
        _say(f"submitted {record.id} as {record.native_id}")
    code = _watched(gate, record, as_json=as_json) if watch else Exit.OK
    if as_json:
        print(json.dumps(asdict(record), indent=2))
    elif not watch:
        _say(f"next: gonogo status {record.id}; gonogo logs --follow {record.id}")
    return code


def _watched(gate: Any, record: Any, *, as_json: bool) -> int:
    from gonogo.launcher.follow import in_words, recorded
    from gonogo.launcher.watch import Watch
    from gonogo.platforms.contract import JobState

    sys.stdout.flush()
    out = None if as_json else sys.stdout.buffer
    if record.phase == "ended":
        status = recorded(record)
        _say(in_words(record, status))
    else:
        try:
            status = Watch(gate.records, record, gate.opened.platform, _say, out).run()
        except KeyboardInterrupt:
            message = f"no longer watched; job {record.id} goes on: gonogo logs --follow {record.id}"
            raise Stop(Exit.INTERRUPTED, message) from None
    return Exit.OK if status.state is JobState.COMPLETE else Exit.JOB_FAILED


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
