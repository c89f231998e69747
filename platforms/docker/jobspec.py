"""A submission as the daemon will get it: one container's configuration, and the same as a `docker run` for a person.

A string command is given to `/bin/sh -c`, a list is executed as it stands; the image's ENTRYPOINT is cleared in both.
"""

from __future__ import annotations

import io
import shlex
import tarfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import gonogo
from gonogo.jobs.model import Job
from gonogo.platforms.contract import Submission
from gonogo.platforms.docker.binds import Bind, job_binds
from gonogo.platforms.docker.environment import container_environment, home_for, identity_variables
from gonogo.platforms.docker.gpu import BY_DEVICES, GpuRequest, GpuWay, gpu_request
from gonogo.platforms.docker.identity import JobUser
from gonogo.platforms.docker.labels import DIGEST, LAUNCH, VERSION, job_container_name, this_process
from gonogo.platforms.faults import LaunchRefused
from gonogo.platforms.probe.preflight import ENTRY

#: `/dev/shm` where the job names no size: a bound on a file system in memory, not memory that is taken. Docker's own
#: default of 64 MiB ends data loaders with a bus error.
DEFAULT_SHM = 16 * 2**30
#: The stack limit in bytes that NVIDIA's images ask for.
STACK = 64 * 2**20
_STACK_LIMIT = {"Name": "stack", "Soft": STACK, "Hard": STACK}
_MEMLOCK_LIMIT = {"Name": "memlock", "Soft": -1, "Hard": -1}
#: A launcher that was killed between create and start leaves a container that counts as nobody's after this, seconds.
_START_SECONDS = 600.0
_PREFLIGHT = "/.gonogo/preflight.sh"


def limits(job: Job | None) -> list[dict[str, Any]]:
    """The limits that a container of the job is started with: the stack that NVIDIA's images ask for and, with GPUs,
    locked memory without bound. A job without GPUs pins none, and some daemons may not grant it."""
    return [dict(_STACK_LIMIT)] if job is not None and job.gpus == 0 else [dict(_MEMLOCK_LIMIT), dict(_STACK_LIMIT)]


@dataclass(frozen=True)
class JobSpec:
    """Everything about the container but its secrets' names in the open."""

    submission: Submission
    user: JobUser
    binds: tuple[Bind, ...]
    home: str
    home_bind: Bind | None
    gpus: GpuRequest
    network: str

    @property
    def name(self) -> str:
        return job_container_name(self.submission.launch_id)

    @property
    def image(self) -> str:
        image = self.submission.job.image
        if not image:
            raise LaunchRefused("the job has no `image`", remedy="set `image` in the job file")
        return image

    @property
    def argv(self) -> list[str]:
        """The program and its arguments, without the preflight before them."""
        command = self.submission.job.command
        if not command:
            raise LaunchRefused("the job has no `command`", remedy="set `command` in the job file")
        return ["/bin/sh", "-c", command] if isinstance(command, str) else list(command)

    @property
    def shm(self) -> int:
        return self.submission.job.requires.shm or DEFAULT_SHM

    def environment(self) -> dict[str, str]:
        """All of it, secrets as well: for the API's body only."""
        identity = {**identity_variables(self.user, self.home), **self.gpus.environment}
        given = self.submission
        return container_environment(given.environment, given.secrets, identity, given.job.gpus)

    def labels(self) -> dict[str, str]:
        return {
            LAUNCH: self.submission.launch_id,
            DIGEST: self.submission.job_digest,
            VERSION: gonogo.__version__,
            **this_process().labels(time.time() + _START_SECONDS),
        }


def job_spec(submission: Submission, user: JobUser, network: str, way: GpuWay = BY_DEVICES) -> JobSpec:
    """Settle binds, home and GPU request for a job that runs as that user."""
    binds = job_binds(submission.job)
    home = home_for(user, binds, submission.launch_id)
    gpus = gpu_request(submission.job, way)
    return JobSpec(submission, user, tuple(binds), home.path, home.bind, gpus, network)


def container_config(spec: JobSpec) -> dict[str, Any]:
    """The body of the engine's `POST /containers/create`. Secrets are in it, by its environment."""
    job = spec.submission.job
    argv = ["/bin/sh", "-c", ENTRY, _PREFLIGHT, *spec.argv] if spec.submission.preflight else spec.argv
    return {
        "Image": spec.image,
        "Entrypoint": argv[:1],
        "Cmd": argv[1:],
        "Env": [f"{name}={value}" for name, value in spec.environment().items()],
        "User": spec.user.text,
        "Labels": spec.labels(),
        "ExposedPorts": {f"{port.container}/{port.protocol}": {} for port in job.ports.publish},
        **({"WorkingDir": job.workdir} if job.workdir else {}),
        "HostConfig": {
            "NetworkMode": spec.network,
            "Mounts": [bind.mount() for bind in spec.binds],
            "PortBindings": _port_bindings(spec),
            "ShmSize": spec.shm,
            "Ulimits": limits(spec.submission.job),
            "GroupAdd": [str(group) for group in spec.user.groups],
            "DeviceRequests": [dict(one) for one in spec.gpus.devices],
            "RestartPolicy": {"Name": "no"},
            "AutoRemove": bool(job.docker and job.docker.auto_remove),
            **({"Runtime": spec.gpus.runtime} if spec.gpus.runtime else {}),
        },
    }


def _port_bindings(spec: JobSpec) -> dict[str, list[dict[str, str]]]:
    bindings: dict[str, list[dict[str, str]]] = {}
    for port in spec.submission.job.ports.publish:
        bindings.setdefault(f"{port.container}/{port.protocol}", []).append({"HostPort": str(port.host)})
    return bindings


def prepared_files(spec: JobSpec) -> bytes:
    """A tar for the container's root: the preflight where there is one, and a home that lies on no mount.

    A home on a mount is made by the job's own user (`home.make_home`): the daemon's root may have no right there.
    """
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w") as tar:
        if spec.home_bind is None:
            _add(tar, spec.home.lstrip("/"), None, 0o700, spec.user)
        if spec.submission.preflight:
            _add(tar, _PREFLIGHT.lstrip("/"), spec.submission.preflight, 0o644, JobUser(0, 0))
    return data.getvalue()


def _add(tar: tarfile.TarFile, name: str, content: bytes | None, mode: int, owner: JobUser) -> None:
    entry = tarfile.TarInfo(name)
    entry.type, entry.mode, entry.uid, entry.gid = tarfile.REGTYPE, mode, owner.uid, owner.gid
    if content is None:
        entry.type = tarfile.DIRTYPE
    entry.size = len(content or b"")
    tar.addfile(entry, io.BytesIO(content or b""))


def command_line(spec: JobSpec) -> str:
    """The equivalent `docker run`, one option a line. A secret is shown as `NAME=***`."""
    job, secrets = spec.submission.job, spec.submission.secrets
    options: list[Sequence[str]] = [("--detach",), ("--name", spec.name), ("--network", spec.network)]
    options += [("--user", spec.user.text), *(("--group-add", str(group)) for group in spec.user.groups)]
    options += [("--shm-size", str(spec.shm)), *(("--ulimit", limit) for limit in _shown_limits(spec))]
    options += [_mount_option(bind) for bind in spec.binds]
    options += [("--publish", f"{port.host}:{port.container}/{port.protocol}") for port in job.ports.publish]
    options += [("--workdir", job.workdir)] if job.workdir else []
    options += [("--rm",)] if job.docker and job.docker.auto_remove else []
    shown = {name: value for name, value in spec.environment().items() if name not in secrets}
    options += [("--env", f"{name}={value}") for name, value in shown.items()]
    labels: Mapping[str, str] = {LAUNCH: spec.submission.launch_id, DIGEST: spec.submission.job_digest}
    options += [("--label", f"{name}={value}") for name, value in labels.items()]
    lines = ["docker run", *(shlex.join(option) for option in options)]
    lines += [f"--env {name}=***" for name in secrets]
    if spec.gpus.devices or spec.gpus.runtime:
        lines.append(spec.gpus.words)
    argv = spec.argv
    lines += [shlex.join(["--entrypoint", argv[0]]), shlex.join([spec.image, *argv[1:]])]
    note = (
        "# the in-job preflight runs first; the command starts only when it passes\n"
        if spec.submission.preflight
        else ""
    )
    return note + " \\\n  ".join(lines) + "\n"


def _mount_option(bind: Bind) -> tuple[str, str]:
    """`--mount` reads CSV: a field with a comma or a quote is quoted as there."""
    fields = ["type=bind", f"source={bind.source}", f"target={bind.target}", *(["readonly"] if bind.read_only else [])]
    return "--mount", ",".join(_csv(one) for one in fields)


def _csv(field: str) -> str:
    return '"' + field.replace('"', '""') + '"' if any(mark in field for mark in ',"\n') else field


def _shown_limits(spec: JobSpec) -> list[str]:
    """`stack=67108864`, as docker's command line takes it."""
    return [f"{limit['Name']}={limit['Soft']}" for limit in limits(spec.submission.job)]
