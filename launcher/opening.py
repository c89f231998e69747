"""From a command line to a job, its settings and its platform; and from a record back to the platform."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from gonogo.jobs.loading import JobFileError, LoadedJob, load_job
from gonogo.jobs.model import Docker, Job
from gonogo.jobs.policy import Policy, find_policy, load_policy, load_waivers
from gonogo.jobs.secrets import secret_names, secret_values
from gonogo.launcher.exits import Exit, Stop
from gonogo.launcher.records import Record
from gonogo.platforms.choice import chosen_platform
from gonogo.platforms.contract import Platform
from gonogo.platforms.faults import Fault
from gonogo.platforms.registry import UnknownPlatform, checked_name, open_platform
from gonogo.platforms.settings import Setting, Settings, resolve
from gonogo.platforms.state import state_dir
from gonogo.reports.redact import Redactor


@dataclass(frozen=True)
class Asked:
    """What a person asked for: a job file and options. Values are None where the option was not given."""

    file: Path
    platform: str | None = None
    overrides: tuple[str, ...] = ()
    given: Mapping[str, Any] = field(default_factory=dict)
    policy: Path | None = None
    waivers: Path | None = None


@dataclass(frozen=True)
class Opened:
    """A job that has been read and the platform that it will run on; nothing has been asked of the target yet."""

    loaded: LoadedJob
    settings: Settings
    platform: Platform
    redactor: Redactor
    policy: Policy

    @property
    def job(self) -> Job:
        return self.loaded.job

    def kept(self) -> Opened:
        """The same, but an ended container stays."""
        if self.job.docker is None:
            return self
        docker = self.job.docker.model_copy(update={"auto_remove": False})
        return self.with_job(self.job.model_copy(update={"docker": docker}))

    def with_job(self, job: Job) -> Opened:
        """The same with what the launch itself has settled in the job; its digest stays that of the file."""
        return replace(self, loaded=replace(self.loaded, job=job))


def _with_auto_remove(loaded: LoadedJob, settings: Settings) -> LoadedJob:
    """The job as DOCKER_AUTO_REMOVE has it: the environment beats the file."""
    section = loaded.job.docker or Docker()
    if section.auto_remove == settings.auto_remove.value:
        return loaded
    docker = section.model_copy(update={"auto_remove": settings.auto_remove.value})
    return replace(loaded, job=loaded.job.model_copy(update={"docker": docker}))


def open_job(asked: Asked, environment: Mapping[str, str] = os.environ) -> Opened:
    """Raises Stop(USAGE) with every fault of the file and the options."""
    try:
        if asked.platform is not None:
            checked_name(asked.platform)  # before the job file: a bad name is worth saying first
        loaded = load_job(asked.file, overrides=asked.overrides, environment=environment)
        chosen = chosen_platform(asked.platform, loaded.job, environment, asked.given.get("docker_host"))
        settings = resolve(chosen, asked.given, environment, loaded.job)
        loaded = _with_auto_remove(loaded, settings)
        platform = open_platform(chosen.value, settings, loaded.job, state_dir(environment))
        policy = _policy(asked, environment)
    except (JobFileError, UnknownPlatform, ValueError) as error:
        raise Stop(Exit.USAGE, str(error)) from None
    except Fault as fault:  # the docker context in use cannot be read
        raise Stop(Exit.USAGE, fault.message, remedy=fault.remedy) from None
    _read_here.append(loaded.job)
    return Opened(loaded, settings, platform, redactor_for(loaded.job, environment), policy)


def _policy(asked: Asked, environment: Mapping[str, str]) -> Policy:
    found = asked.policy or find_policy(asked.file, environment)
    policy = load_policy(found) if found is not None else Policy()
    return policy.with_waivers(load_waivers(asked.waivers)) if asked.waivers is not None else policy


def redactor_for(job: Job, environment: Mapping[str, str]) -> Redactor:
    """Knows every secret of the job and of this process's environment."""
    names = secret_names(job, environment)
    named = {name: source[name] for source in (job.env, environment) for name in names if name in source}
    rest = secret_values(job, environment) - set(named.values())
    return Redactor(named | {f"secret-{number}": value for number, value in enumerate(sorted(rest), start=1)})


#: The jobs that this process has read: their secrets must not be in its last words either.
_read_here: list[Job] = []


def redacted(text: str) -> str:
    """The text without any secret of this process's environment and of the jobs that it has read."""
    for job in _read_here or [Job()]:
        text = redactor_for(job, os.environ).text(text)
    return text


def kept_settings(opened: Opened) -> dict[str, Any]:
    """What a record keeps, so that a later process reaches the same target.

    A daemon's address is kept as it was found, since the docker context in use may be another one by then.
    """
    settings, address = opened.settings, opened.platform.address
    found = address if address.startswith(("unix://", "ssh://")) else settings.docker_host.value
    return {"docker_host": found, "docker_network": settings.docker_network.value}


def reopen(record: Record, environment: Mapping[str, str] = os.environ) -> Platform:
    """The platform of a recorded launch. Raises Stop: USAGE where this version cannot open it, HARNESS where the docker
    context in use cannot be read."""
    try:
        settings = Settings(
            platform=Setting(record.platform, "record"),
            docker_host=Setting(record.settings.get("docker_host"), "record"),
            docker_network=Setting(record.settings.get("docker_network") or "tao_default", "record"),
        )
        return open_platform(record.platform, settings, None, state_dir(environment))
    except (UnknownPlatform, ValueError) as error:
        raise Stop(Exit.USAGE, str(error)) from None
    except Fault as fault:
        raise Stop(Exit.HARNESS, f"{record.id} Unknown: {fault.message}", remedy=fault.remedy) from None
