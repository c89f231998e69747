"""`init`, `check`, `report`, `conformance`: before a launch."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from gonogo.launcher.exits import Exit, Stop

JobFile = Annotated[Path | None, typer.Argument(metavar="[JOB]", help="The job file.", show_default=False)]
PlatformName = Annotated[str | None, typer.Option("--platform", metavar="NAME", help="Where it shall run.")]
Sets = Annotated[list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Override one key; repeatable.")]
DockerHost = Annotated[str | None, typer.Option("--docker-host", metavar="URL", help="The target daemon.")]
Reports = Annotated[list[Path] | None, typer.Option("--report", metavar="FILE", help="Write .html, .json or .md.")]
Strict = Annotated[bool, typer.Option("--strict", help="Rows that can only be asked on arrival block.")]
Quiet = Annotated[bool, typer.Option("--quiet", help="Verdict, causes and remedies only.")]
AsJson = Annotated[bool, typer.Option("--json", help="The JSON report on standard output.")]
Seconds = Annotated[str | None, typer.Option(metavar="SECONDS")]


def register(app: typer.Typer) -> None:
    """Add these commands."""
    app.command("init")(init)
    app.command("check")(check)
    app.command("report")(report)
    app.command("conformance")(conformance)


def init(
    platform: PlatformName = None,
    file: Annotated[Path, typer.Option("--file", help="Where to write it.")] = Path("job.yaml"),
) -> None:
    """Write a commented starter job file."""
    from gonogo.jobs.starter import starter
    from gonogo.platforms.registry import UnknownPlatform, checked_name

    try:
        text = starter(checked_name(platform or "interactive"), str(file))
    except (UnknownPlatform, ValueError) as error:
        raise Stop(Exit.USAGE, str(error)) from None
    try:
        with file.open("x", encoding="utf-8") as out:
            out.write(text)
    except FileExistsError:
        raise Stop(
            Exit.USAGE, f"{file} is there already; it was left as it is", remedy="name another with --file"
        ) from None
    except OSError as error:
        raise Stop(Exit.USAGE, f"{file} cannot be written: {error.strerror}") from None
    print(f"wrote {file}; next: gonogo check {file}")


def check(
    job: JobFile = None,
    platform: PlatformName = None,
    image: Annotated[str | None, typer.Option(metavar="REF", help="Image of an ad-hoc job.")] = None,
    gpus: Annotated[str | None, typer.Option(metavar="N", help="GPUs; 0 none, -1 all visible.")] = None,
    path: Annotated[list[str] | None, typer.Option(metavar="LABEL=URI", help="A further input.")] = None,
    output: Annotated[list[str] | None, typer.Option(metavar="LABEL=URI", help="A further output.")] = None,
    sets: Sets = None,
    docker_host: DockerHost = None,
    report: Reports = None,
    deadline: Seconds = None,
    probe_timeout: Seconds = None,
    strict: Strict = False,
    offline: Annotated[bool, typer.Option("--offline", help="No network beyond the target.")] = False,
    smoke_image: Annotated[str | None, typer.Option(metavar="REF", help="Image for probe containers.")] = None,
    checks: Annotated[list[Path] | None, typer.Option(metavar="DIR", help="Further checks of your own.")] = None,
    policy: Annotated[Path | None, typer.Option(metavar="FILE", help="Site policy.")] = None,
    waivers: Annotated[Path | None, typer.Option(metavar="FILE", help="Further waivers.")] = None,
    pull: Annotated[bool, typer.Option("--pull", help="Allow pulling images on the target.")] = False,
    deep: Annotated[bool, typer.Option("--deep", help="Also the slow, advisory rows.")] = False,
    skip_platform_access: Annotated[
        bool, typer.Option("--skip-platform-access", help="Static rows only; the verdict is INCOMPLETE.")
    ] = False,
    quiet: Quiet = False,
    as_json: AsJson = False,
    wait: Annotated[str | None, typer.Option(metavar="DURATION", help="Ask again until GO or the time is up.")] = None,
) -> int:
    """Run the suite: GO or NO-GO, with causes and remedies."""
    options = pytest_options(
        image=image, gpus=gpus, path=path, output=output, set=sets, docker_host=docker_host, report=report,
        deadline=deadline, probe_timeout=probe_timeout, strict=strict, offline=offline, smoke_image=smoke_image,
        checks=checks, policy=policy, waivers=waivers, pull=pull, deep=deep, skip_platform_access=skip_platform_access,
    )  # fmt: skip
    ends = time.monotonic() + _duration(wait)
    while True:
        document = run(job, platform, options, progress=not quiet and not as_json)
        if document["verdict"] == "GO" or time.monotonic() >= ends:
            break
        print(f"{document['verdict']}: asking again", file=sys.stderr)
        time.sleep(_pause(ends))
    show(document, report or [], quiet=quiet, as_json=as_json)
    return Exit.OK if document["verdict"] == "GO" else Exit.NO_GO


def report(
    source: Annotated[Path, typer.Argument(metavar="FILE.json", help="A JSON report.")],
    to: Annotated[Path, typer.Option("--to", metavar="FILE", help="The form by suffix: .html, .json, .md.")],
    since: Annotated[Path | None, typer.Option(metavar="FILE.json", help="An earlier report to compare.")] = None,
) -> None:
    """Render a report again from its JSON; the verdict is never computed again."""
    from gonogo.reports.document import ReportError
    from gonogo.reports.render import render

    try:
        print(f"wrote {render(source, to, previous=since)}")
    except (ReportError, ValueError) as error:
        raise Stop(Exit.USAGE, str(error)) from None


def conformance(
    platform: PlatformName = None,
    image: Annotated[str | None, typer.Option(metavar="REF", help="Image for the tiny jobs.")] = None,
    sets: Sets = None,
    docker_host: DockerHost = None,
    report: Reports = None,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> int:
    """Run the contract suite: tiny real jobs on the target."""
    options = pytest_options(image=image, set=sets, docker_host=docker_host, report=report)
    document = run(None, platform or "interactive", options, progress=not quiet and not as_json, conformance=True)
    show(document, report or [], quiet=quiet, as_json=as_json)
    return Exit.OK if document["verdict"] == "GO" else Exit.NO_GO


def pytest_options(**given: Any) -> list[str]:
    """The options that were given, as pytest takes them."""
    options: list[str] = []
    for name, value in given.items():
        option = f"--{name.replace('_', '-')}"
        if value is None or value is False or value == []:
            continue
        if value is True:
            options.append(option)
        else:
            options += [f"{option}={one}" for one in (value if isinstance(value, list) else [value])]
    return options


def run(
    job: Path | None,
    platform: str | None,
    options: Sequence[str],
    *,
    progress: bool,
    conformance: bool = False,
) -> dict[str, Any]:
    """Run the suite and return its document. Raises Stop for a usage error or a harness that failed."""
    from gonogo.launcher.suite import SuiteRequest, run_suite
    from gonogo.reports.progress import Progress

    live = Progress(sys.stderr, enabled=progress)
    try:
        outcome = run_suite(SuiteRequest(job, platform, tuple(options), conformance=conformance), live)
    finally:
        live.close()
    if outcome.usage_error is not None:
        raise Stop(Exit.USAGE, outcome.usage_error)
    if outcome.document is None or outcome.pytest_status == 3:
        raise Stop(Exit.HARNESS, f"the harness itself failed: {outcome.failure or 'no report was made'}")
    if outcome.document.get("cut_short") == "interrupted":
        show(outcome.document, [], quiet=True, as_json=False)
        raise Stop(Exit.INTERRUPTED, "interrupted; probes cleaned up")
    return outcome.document


def show(document: dict[str, Any], reports: Sequence[Path], *, quiet: bool, as_json: bool) -> None:
    """The result for a person, or for a program."""
    from gonogo.reports.terminal import print_summary

    if as_json:
        print(json.dumps(document, indent=2))
    else:
        print_summary(document, sys.stdout, reports=reports, brief=quiet, environment=os.environ)


def _pause(ends: float) -> float:
    """Seconds until `--wait` asks again: more often where little time is left, never later than its end."""
    left = max(0.0, ends - time.monotonic())
    return min(left, max(1.0, min(10.0, left / 20)))


def _duration(text: str | None) -> float:
    from gonogo.jobs.sizes import parse_duration

    if text is None:
        return 0.0
    try:
        return float(parse_duration(f"{text}s" if text.isdigit() else text))
    except ValueError as error:
        raise Stop(Exit.USAGE, f"--wait: {error}") from None
