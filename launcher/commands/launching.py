"""`launch`: the suite, then the submission, only on GO."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gonogo.launcher.commands.check import DockerHost, PlatformName, Reports, Sets, Strict, pytest_options, run, show
from gonogo.launcher.exits import Exit, Stop

if TYPE_CHECKING:
    from gonogo.launcher.gate import Gate, Keep, Launched, Prove
    from gonogo.launcher.opening import Opened
    from gonogo.launcher.records import Record, Records
    from gonogo.launcher.splits import Split


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
    keep: Annotated[
        bool, typer.Option("--keep", help="Keep the ended container, whatever docker.auto_remove says.")
    ] = False,
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
    from gonogo.launcher.devices import free_devices, with_devices
    from gonogo.launcher.opening import Asked, open_job
    from gonogo.launcher.records import Records, checked_id
    from gonogo.launcher.splits import splits_of
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
    opened = open_job(Asked(job, platform, tuple(sets or ()), given, policy, waivers))
    if keep:
        opened = opened.kept()
    launch_id = checked_id(launch_id_for(opened.job, id))
    chosen = sets or []
    if not dry_run and clearance is None and (devices := free_devices(opened.job, opened.platform)):
        _say(f"GPUs {', '.join(devices)} are free and are taken by their IDs; others are in use")
        opened, chosen = with_devices(opened, devices), [*chosen, f"docker.gpu_ids=[{', '.join(devices)}]"]
    records = Records(state_dir(os.environ), opened.redactor.text)
    splits = splits_of(opened, launch_id, records, replace_all=replace)
    if dry_run:
        return max(_dry_run(split.opened, split.launch_id) for split in splits)
    _say(f"launch {launch_id}")
    options = pytest_options(set=[*chosen, f"id={launch_id}"], report=report, policy=policy, waivers=waivers, **given)

    proven: list[dict[str, Any]] = []

    def prove(anew: bool = False) -> dict[str, Any]:
        """One run of the suite for all splits, unless it is asked for anew."""
        if proven and not anew:
            return proven[-1]
        try:
            document = run(job, opened.settings.platform.value, options, progress=not as_json)
        except Stop as stop:
            if stop.code is Exit.INTERRUPTED:
                raise KeyboardInterrupt from None
            raise
        _show_result(document, report, as_json=as_json)
        proven.append(document)
        return document

    def rewrite(document: Mapping[str, Any]) -> None:
        _write(document, report or [])
        if document["verdict"] != "GO":
            _show_result(document, report, as_json=as_json)

    gates = [(_gate(split, records, prove, rewrite, clearance), split.launch_id) for split in splits]
    return _launched(opened, gates, watch=watch, as_json=as_json)


def _launched(opened: Opened, gates: list[tuple[Gate, str]], *, watch: bool, as_json: bool) -> int:
    """Each job through its gate, then what the person wants to see of them. Exit code of the worst."""
    made: list[tuple[Gate, Launched]] = []
    gate, launch_id = gates[0]
    try:
        for gate, launch_id in gates:
            made.append((gate, gate.launch(launch_id)))
        codes = [_after(gate, launched, watch=watch, as_json=as_json, alone=len(made) == 1) for gate, launched in made]
    except KeyboardInterrupt:
        raise Stop(Exit.INTERRUPTED, f"interrupted; {gate.after_interruption(launch_id)}") from None
    except Stop as stop:
        clean = opened.redactor.text  # it knows the job's own secrets as well
        raise Stop(stop.code, clean(stop.message), remedy=clean(stop.remedy)) from None
    if as_json:
        records = [asdict(launched.record) for _, launched in made]
        print(json.dumps(records[0] if len(records) == 1 else records, indent=2))
    return max(codes)


def _gate(split: Split, records: Records, prove: Prove, keep: Keep, clearance: Path | None) -> Gate:
    from gonogo.launcher.gate import Gate

    opened = split.opened
    return Gate(
        opened,
        records,
        prove,
        _say,
        lambda launch_id: _review(opened, launch_id),
        keep,
        clearance=clearance,
        strict=opened.settings.strict.value,
        replace=split.replaces,
    )


def _show_result(document: Mapping[str, Any], reports: list[Path] | None, *, as_json: bool) -> None:
    """For a program nothing but the record comes on standard output, or, where nothing was submitted, the report."""
    if not as_json:
        show(dict(document), reports or [], quiet=True, as_json=False)
    elif document["verdict"] != "GO":
        show(dict(document), [], quiet=True, as_json=True)


def _write(document: Mapping[str, Any], reports: list[Path]) -> None:
    from gonogo.reports.document import ReportError
    from gonogo.reports.write import write_report

    try:
        for file in reports:
            write_report(document, file)
    except (ReportError, ValueError) as error:
        _say(f"gonogo: {error}")


def _dry_run(opened: Opened, launch_id: str) -> int:
    from gonogo.launcher.submission import build_submission
    from gonogo.platforms.faults import Fault

    submission = build_submission(opened.job, opened.loaded.digest, launch_id, os.environ)
    try:
        text = opened.platform.render(submission)
    except Fault as fault:
        raise Stop(Exit.NO_GO, fault.message, remedy=fault.remedy) from None
    print(opened.redactor.text(text))
    return Exit.OK


def _review(opened: Opened, launch_id: str) -> None:
    from gonogo.launcher.submission import review

    target = f"{opened.settings.platform.value} ({opened.platform.address})"
    for label, text in review(opened.job, launch_id, target, os.environ):
        _say(f"  {label:<12} {opened.redactor.text(text)}")


def _after(gate: Gate, launched: Launched, *, watch: bool, as_json: bool, alone: bool) -> int:
    record = launched.record
    if launched.note:
        _say(f"{record.id}: {launched.note}")
    else:
        _say(f"submitted {record.id} as {record.native_id}")
    code = _watched(gate, record, log=alone and not as_json) if watch else Exit.OK
    if not as_json and not watch:
        _say(f"next: gonogo status {record.id}; gonogo logs --follow {record.id}")
    return code


def _watched(gate: Gate, record: Record, *, log: bool) -> int:
    """Follow one job to its end; of several splits the logs are not mixed, only their states are told."""
    from gonogo.launcher.follow import in_words, recorded
    from gonogo.launcher.watch import Watch
    from gonogo.platforms.contract import JobState

    sys.stdout.flush()
    out = sys.stdout.buffer if log else None
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
