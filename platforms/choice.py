"""Which platform a run is on. One rule for checks and launches: the name given, the job's one section, the daemon
named, else this node."""

from __future__ import annotations

from collections.abc import Mapping

from gonogo.jobs.model import Job
from gonogo.jobs.rules import choose_platform, is_remote_daemon, platform_sections
from gonogo.platforms.registry import checked_name
from gonogo.platforms.settings import Setting


def chosen_platform(
    name: str | None, job: Job | None, environment: Mapping[str, str], docker_host: str | None
) -> Setting[str]:
    """The platform and where its name comes from. `docker_host` is the option's value, None where not given.

    Raises UnknownPlatform, or JobFileError where the job has sections for several platforms.
    """
    if name is not None:
        return Setting(checked_name(name), "command line")
    if job is not None and platform_sections(job):
        return Setting(checked_name(choose_platform(job, environment, docker_host)), "job file")
    if docker_host:
        remote = is_remote_daemon(docker_host)
        return Setting(checked_name("remote-docker" if remote else "local-docker"), "command line (--docker-host)")
    return Setting("interactive", "default")
