"""Rules about a whole job: pure functions for the checks and the command line. Source: rows JOB-03 to JOB-10."""

from __future__ import annotations

import json
import posixpath
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from gonogo.jobs.faults import JobFault, JobFileError
from gonogo.jobs.model import PLATFORM_SECTIONS, Job
from gonogo.jobs.secrets import is_secret_name, looks_secret
from gonogo.jobs.shelltext import quote_fault

MULTI_NODE = ("slurm", "lepton", "skypilot")
_NO_CONTAINER = ("interactive",)
_SCHEMES = {"lepton": {"s3", "file", "lepton", "lustre"}}
_RIGHT_FORMS = {
    "lepton": "write the absolute path as the target sees it, or s3://BUCKET/KEY",
    "lustre": "write the plain path, such as /lustre/…, where the target mounts it",
}


@dataclass(frozen=True)
class Problem:
    """What is wrong, what to do, the dotted key it is about. `line` is for a caller who knows the file to fill in."""

    message: str
    remedy: str
    key: str = ""
    line: int | None = None


def platform_sections(job: Job) -> list[str]:
    """The platform sections that the job has, in the order of the interface."""
    return [name for name in PLATFORM_SECTIONS if getattr(job, name) is not None]


def choose_platform(job: Job, environment: Mapping[str, str], docker_host: str | None = None) -> str:
    """The platform that the job's one section means; `interactive` without any.

    `docker:` is remote when the daemon's address is ('docker_host', else DOCKER_HOST, else its `host`).
    Raises JobFileError where several sections stand side by side.
    """
    sections = platform_sections(job)
    if len(sections) > 1:
        message = "the job has sections for several platforms: " + ", ".join(sections)
        raise JobFileError([JobFault("JOB-01", "--platform", 0, 0, "", message, "choose one with --platform")])
    if not sections:
        return "interactive"
    if sections[0] != "docker":
        return sections[0]
    host = docker_host or environment.get("DOCKER_HOST") or (job.docker.host if job.docker else None)
    return "remote-docker" if is_remote_daemon(host) else "local-docker"


def is_remote_daemon(url: str | None) -> bool:
    """Whether that daemon is on another machine: an ssh, tcp or http URL whose host is not the loopback."""
    if not url:
        return False
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
    except ValueError:
        return False
    if parts.scheme == "ssh":
        return True
    loopback = host in ("localhost", "::1", "0.0.0.0", "") or host.startswith("127.")
    return parts.scheme in ("tcp", "http", "https") and not loopback


def multi_node_unsupported(job: Job, platform: str) -> list[Problem]:
    """JOB-03, DOCK-06: more than one node where there is only one."""
    if job.nodes == 1 or platform in MULTI_NODE:
        return []
    remedy = f"set nodes: 1, or use one of {', '.join(MULTI_NODE)}"
    return [Problem(f"nodes is {job.nodes}, and {platform} runs a job on one node", remedy, "nodes")]


def foreign_schemes(job: Job, platform: str) -> list[Problem]:
    """JOB-04: URIs that this platform cannot serve, and cloud metadata under another key than `aws`."""
    served = _SCHEMES.get(platform, {"s3", "file"})
    problems = []
    for key, uri in _uris(job):
        scheme = uri.partition("://")[0] if "://" in uri and not uri.startswith("/") else ""
        if scheme and scheme not in served:
            remedy = _RIGHT_FORMS.get(scheme, "write s3://BUCKET/KEY or an absolute path")
            problems.append(Problem(f"{key}: {platform} does not serve {scheme}://", remedy, key))
    return problems + _cloud_metadata(job)


def _uris(job: Job) -> Iterator[tuple[str, str]]:
    for i, given in enumerate(job.inputs):
        yield f"inputs.{i}.uri", given.uri
    for i, made in enumerate(job.outputs):
        yield f"outputs.{i}.uri", made.uri


def _cloud_metadata(job: Job) -> list[Problem]:
    text = job.env.get("CLOUD_METADATA")
    if text is None:
        return []
    key = "env.CLOUD_METADATA"
    try:
        data = json.loads(text)
    except ValueError:
        return [Problem(f"{key} is not JSON", 'write {"aws": {BUCKET: {…}}}, or leave it to gonogo', key)]
    if isinstance(data, dict) and set(data) == {"aws"}:
        return []
    return [Problem(f"{key} holds another key than 'aws'", "use the key aws for every S3-compatible store", key)]


def mount_collisions(job: Job) -> list[Problem]:
    """JOB-06: one mount point used twice, an output under a read-only mount, a mount point that is not absolute."""
    points = list(_mount_points(job))
    problems = [
        Problem(f"{key}: the mount point '{point}' is not absolute", "begin it with /", key)
        for key, point, _ in points
        if not point.startswith("/")
    ]
    seen: dict[str, str] = {}
    for key, point, _ in points:
        if point in seen:
            problems.append(
                Problem(f"{seen[point]} and {key} are both mounted at {point}", "give each its own place", key)
            )
        seen.setdefault(point, key)
    return problems + list(_outputs_under_read_only(points))


def _mount_points(job: Job) -> Iterator[tuple[str, str, bool]]:
    """(key, normalised mount point, read-only) of everything that is mounted."""
    for i, given in enumerate(job.inputs):
        if given.mount:
            yield f"inputs.{i}", posixpath.normpath(given.mount), given.read_only
    for i, made in enumerate(job.outputs):
        if made.mount:
            yield f"outputs.{i}", posixpath.normpath(made.mount), False
    for i, mount in enumerate(job.mounts):
        yield f"mounts.{i}", posixpath.normpath(mount.target), mount.read_only


def _outputs_under_read_only(points: list[tuple[str, str, bool]]) -> Iterator[Problem]:
    for key, point, _ in points:
        for above, parent, read_only in points:
            if key.startswith("outputs.") and read_only and point.startswith(parent.rstrip("/") + "/"):
                message = f"{key} at {point} lies under {above} at {parent}, which is read-only"
                yield Problem(message, "mount the output elsewhere", key)


def inexact_pins(job: Job) -> list[Problem]:
    """JOB-07: an image without a fixed tag, a package without a fixed version."""
    problems = []
    if job.image and not job.image.endswith(".sqsh") and "@sha256:" not in job.image:
        tag = job.image.rpartition("/")[2].partition(":")[2]
        if tag in ("", "latest"):
            said = "has no tag, which means latest" if not tag else "is tagged latest"
            problems.append(
                Problem(f"the image {said}: it may change between two launches", "name a fixed tag", "image")
            )
    for key in ("uses", "python_packages"):
        for i, package in enumerate(getattr(job, key)):
            if not _is_pinned(package):
                remedy = "write NAME==VERSION"
                problems.append(Problem(f"{key}.{i}: no exact version is named", remedy, f"{key}.{i}"))
    return problems


def _is_pinned(package: str) -> bool:
    if re.search(r"@\s*git\+\S+@[0-9a-f]{7,40}\b", package):
        return True
    if re.search(r"-[0-9][^-/]*(-[^-/]+){3,4}\.whl(#\S+)?$", package):
        return True
    return bool(re.search(r"={2,3}\s*[0-9][A-Za-z0-9.+!_-]*\s*(;.*)?$", package)) and "*" not in package


_SECRET_OPTION = re.compile(
    r"--?(?:[a-z]+[-_])*(?:token|password|passwd|secret|api[-_]?key|access[-_]?key)(?:[-_][a-z]+)*(?:=|\s+)"
    r"(?!-)(?P<quote>[\"']?)(?P<value>[^\s\"'$<]{4,})",
    re.IGNORECASE,
)
_SECRET_ASSIGNED = re.compile(r"(?:^|[\s;&|(\"'])(?P<name>[A-Za-z_][A-Za-z0-9_]*)=[\"']?(?P<value>[^\s\"'$;&|]{4,})")
_BEARER = re.compile(r"\bauthorization:\s*(?:bearer|basic)\s+[^\s\"'$]{4,}", re.IGNORECASE)


def command_faults(job: Job) -> list[Problem]:
    """JOB-10 as far as the file decides it: empty, quotes, a secret in clear, splits. No secret gets into a message."""
    words = [job.command] if isinstance(job.command, str) else job.command
    if not any(word.strip() for word in words):
        return [Problem("the command is empty", "write command: … in the job file", "command")]
    problems = _shape_faults(job)
    text = "\n".join(words) if isinstance(job.command, str) else " ".join(words)
    if holds_secret(text):
        remedy = 'name the variable in credentials and write "$NAME" in the command'
        problems.append(Problem("the command holds a secret in clear", remedy, "command"))
    return problems + _split_faults(job, text)


def _shape_faults(job: Job) -> list[Problem]:
    if isinstance(job.command, str):
        fault = quote_fault(job.command)
        return [Problem(f"the command: {fault}", "close it, or escape it with a backslash", "command")] if fault else []
    program = job.command[0]
    if not program.strip():
        return [Problem("the first entry of the command is empty", "begin the list with the program", "command")]
    if len(job.command) == 1 and re.search(r"\s", program.strip()):
        remedy = "write it as a string, or one entry for each word"
        return [Problem("the command is a list of one entry with several words: no such program", remedy, "command")]
    return []


def holds_secret(text: str) -> bool:
    """Whether a command line shows a secret: a token's shape, `--token VALUE`, `API_KEY=VALUE`, a bearer header."""
    if looks_secret(text) or _SECRET_OPTION.search(text) or _BEARER.search(text):
        return True
    return any(is_secret_name(match["name"]) for match in _SECRET_ASSIGNED.finditer(text))


def _split_faults(job: Job, text: str) -> list[Problem]:
    if job.splits and job.splits > 1 and "{split}" not in text:
        message = f"splits is {job.splits}, and the command does not hold {{split}}: every split would do the same"
        return [Problem(message, "write {split} where the split's number belongs", "command")]
    if job.splits is None and "{split}" in text:
        return [Problem("the command holds {split}, and splits is not set", "set splits: N", "splits")]
    return []


def unused_keys(job: Job, platform: str) -> list[str]:
    """Sentences about keys that this platform does not use."""
    notes = []
    if platform in _NO_CONTAINER and job.image:
        notes.append("image: not used on interactive; the command runs on this machine as it is")
    if platform in _NO_CONTAINER and job.mounts:
        notes.append("mounts: not used on interactive; the command sees this machine's own paths")
    return notes
