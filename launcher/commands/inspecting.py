"""`inspect`: what a target offers, so that a job file can be filled in from it."""

from __future__ import annotations

import json
import os
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gonogo.launcher.commands.check import DockerHost, PlatformName
from gonogo.launcher.exits import Exit, Stop

if TYPE_CHECKING:
    from gonogo.platforms.contract import Platform


def register(app: typer.Typer) -> None:
    """Add this command."""
    app.command("inspect")(inspect)


def inspect(
    job: Annotated[Path | None, typer.Argument(metavar="[JOB]", help="A job file, for its target.")] = None,
    platform: PlatformName = None,
    docker_host: DockerHost = None,
    as_json: Annotated[bool, typer.Option("--json", help="As JSON on standard output.")] = False,
) -> int:
    """What the target offers: GPUs and their state, images, networks."""
    from gonogo.platforms.faults import Fault
    from gonogo.platforms.inspection import as_text

    target = _target(job, platform, docker_host)
    try:
        tables = target.tables()
    except Fault as fault:
        raise Stop(Exit.NO_GO, fault.message, remedy=fault.remedy) from None
    finally:
        target.close()
    if as_json:
        print(json.dumps({"platform": target.name, "tables": [asdict(table) for table in tables]}, indent=2))
    else:
        print(as_text(tables))
    return Exit.OK


def _target(job: Path | None, platform: str | None, docker_host: str | None) -> Platform:
    from gonogo.launcher.opening import Asked, open_job
    from gonogo.platforms.registry import UnknownPlatform, checked_name, open_platform
    from gonogo.platforms.settings import Setting, resolve
    from gonogo.platforms.state import state_dir

    given = {"docker_host": docker_host}
    if job is not None:
        return open_job(Asked(job, platform, (), given)).platform
    try:
        name = checked_name(platform or "interactive")
        settings = resolve(Setting(name, "command line"), given, os.environ, None)
        return open_platform(name, settings, None, state_dir(os.environ))
    except (UnknownPlatform, ValueError) as error:
        raise Stop(Exit.USAGE, str(error)) from None
