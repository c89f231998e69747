"""Which folders of the daemon's host the job's container sees, and where."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from gonogo.jobs.model import Job
from gonogo.jobs.uris import local_path


@dataclass(frozen=True)
class Bind:
    """A path of the host inside the container. A source that is missing is an error, never created.

    `home` says that it is a folder in which the job's home may lie.
    """

    source: str
    target: str
    read_only: bool = True
    home: bool = False

    def mount(self) -> dict[str, Any]:
        """As the engine's API takes it: a mount of type bind, which unlike `-v` creates nothing on the host."""
        return {"Type": "bind", "Source": self.source, "Target": self.target, "ReadOnly": self.read_only}


def job_binds(job: Job) -> list[Bind]:
    """Inputs, outputs and mounts on the host. One without `mount` keeps its own path; cloud URIs are left out."""
    binds = []
    for entry in job.inputs:
        source = local_path(entry.uri)
        if source is not None:
            binds.append(Bind(source, entry.mount or source, entry.read_only))
    for output in job.outputs:
        source = local_path(output.uri)
        if source is not None:
            binds.append(Bind(source, output.mount or source, read_only=False, home=True))
    binds += [Bind(mount.source, mount.target, mount.read_only, not mount.read_only) for mount in job.mounts]
    return list(dict.fromkeys(binds))


def writable_bind(binds: Sequence[Bind]) -> Bind | None:
    """The first folder that the job may write on a mount, an output before other mounts; None without one.

    An input that may be written is passed over: it can be a file, and it is somebody's data.
    """
    return next((bind for bind in binds if bind.home), None)
