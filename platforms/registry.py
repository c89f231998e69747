"""The seven platforms by name, each imported only when it is opened."""

from __future__ import annotations

import difflib
from pathlib import Path

from gonogo.jobs.model import Job
from gonogo.platforms.contract import Platform
from gonogo.platforms.settings import Settings

NAMES = ("interactive", "local-docker", "remote-docker", "brev", "lepton", "slurm", "skypilot")

#: What this version can open; the others are known by name and refused with that reason.
BUILT = ("interactive", "local-docker", "remote-docker")


class UnknownPlatform(ValueError):
    """A platform name that is none of the seven, or that this version cannot open yet."""


def checked_name(name: str) -> str:
    """The name, if it is one that can be opened. Raises UnknownPlatform listing the seven."""
    if name not in NAMES:
        near = difflib.get_close_matches(name, NAMES, n=1)
        hint = f"; did you mean {near[0]}?" if near else ""
        raise UnknownPlatform(f"unknown platform {name!r}: choose one of {', '.join(NAMES)}{hint}")
    if name not in BUILT:
        raise UnknownPlatform(
            f"platform {name} is not in this version yet: it has {', '.join(BUILT)} (of {', '.join(NAMES)})"
        )
    return name


def open_platform(name: str, settings: Settings, job: Job | None, state_dir: Path) -> Platform:
    """The platform of that name on the target that the settings name. Asks nothing yet; raises UnknownPlatform."""
    checked_name(name)
    if name == "interactive":
        from gonogo.platforms.interactive.platform import InteractivePlatform

        return InteractivePlatform(settings, job, state_dir)
    if name == "remote-docker":
        from gonogo.platforms.docker.remote import RemoteDockerPlatform

        return RemoteDockerPlatform(settings, job)
    from gonogo.platforms.docker.platform import DockerPlatform

    return DockerPlatform(settings, job)
