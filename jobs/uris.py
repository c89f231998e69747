"""Where an input or output lies: `s3://…` is cloud, `file://` and plain paths lie on the target's host (JOB-04)."""

from __future__ import annotations

import re
from collections.abc import Iterable
from urllib.parse import unquote

from gonogo.jobs.model import Job

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://")


def scheme_of(uri: str) -> str:
    """The scheme in lower case, empty for a plain path."""
    match = _SCHEME.match(uri)
    return match.group(1).lower() if match else ""


def local_path(uri: str) -> str | None:
    """The path on the target's host, None where the URI does not lie there."""
    scheme = scheme_of(uri)
    if not scheme:
        return uri
    return unquote(uri[len("file://") :]) if scheme == "file" else None


def input_paths(job: Job) -> list[str]:
    """Local input paths in the job's order, each once, as the target's host knows them."""
    return _local(entry.uri for entry in job.inputs)


def writable_paths(job: Job) -> list[str]:
    """Local folders that the job writes: its outputs and its writable mounts, each once."""
    return _local([entry.uri for entry in job.outputs] + [mount.source for mount in job.mounts if not mount.read_only])


def writable_inputs(job: Job) -> list[str]:
    """Local inputs that the job may change (`read_only: false`), each once."""
    return _local(entry.uri for entry in job.inputs if not entry.read_only)


def writable_mounts(job: Job) -> list[str]:
    """Everything of the host that the job may change: its outputs, writable mounts and writable inputs, each once."""
    return list(dict.fromkeys([*writable_paths(job), *writable_inputs(job)]))


def mounted_paths(job: Job) -> list[str]:
    """Sources of the read-only mounts that are no inputs, each once."""
    return _local(mount.source for mount in job.mounts if mount.read_only)


def output_paths(job: Job) -> list[str]:
    """Local output folders, each once."""
    return _local(entry.uri for entry in job.outputs)


def _local(uris: Iterable[str]) -> list[str]:
    paths = [path for uri in uris if (path := local_path(uri)) is not None]
    return list(dict.fromkeys(paths))
