"""GPUs as the daemon gives them: how they are asked for, and the toolkit behind that (GPU-03, GPU-09)."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from gonogo.jobs.model import Job
from gonogo.platforms.docker.facts import DaemonInfo
from gonogo.platforms.faults import Fault, ToolMissing
from gonogo.platforms.gpu_choice import named_ids
from gonogo.platforms.probe.answers import Gpu, GpuAnswer
from gonogo.platforms.shell import Shell

#: Prints the version of whichever part of the toolkit is there. Source: NVIDIA Container Toolkit 1.14 to 1.18.
_ASK_VERSION = b"nvidia-ctk --version || nvidia-container-toolkit --version || nvidia-container-cli --version\n"
_VERSION = re.compile(r"version:?\s+v?([0-9]+\.[0-9]+(?:\.[0-9]+)?(?:[-~+][0-9A-Za-z.]+)?)")
_CDI_KIND = "nvidia.com/gpu"
#: The runtime's program; its variants have a suffix (`.cdi`, `.legacy`).
_RUNTIME = "nvidia-container-runtime"


@dataclass(frozen=True)
class ToolkitFacts:
    """How the daemon would serve a GPU request: `registered` names the ways (`runtime nvidia`, `CDI`), empty for none.

    `note` says what to know of a way that is not the usual one. `version` is the toolkit's on the host; where it could
    not be had, `version_fault` says why.
    """

    registered: str
    version: str
    runtimes: tuple[str, ...]
    version_fault: Fault | None = None
    note: str = ""


@dataclass(frozen=True)
class GpuContainer:
    """What a container with the job's GPU request saw: `request` in words, `driver` and `cuda` as versions."""

    gpus: tuple[Gpu, ...]
    image: str
    request: str
    driver: str = ""
    cuda: str = ""
    answer: GpuAnswer | None = None


@dataclass(frozen=True)
class GpuWay:
    """How a daemon is asked for GPUs: by device requests, by its nvidia `runtime` (Tegra), or by CDI device names."""

    kind: Literal["devices", "runtime", "cdi"]
    runtime: str = ""


BY_DEVICES = GpuWay("devices")


@dataclass(frozen=True)
class GpuRequest:
    """The container's part of the request, and the same as an option of `docker run`."""

    devices: tuple[Mapping[str, Any], ...]
    runtime: str
    environment: Mapping[str, str]
    words: str


def nvidia_runtimes(daemon: DaemonInfo) -> tuple[str, ...]:
    """Names under which NVIDIA's runtime is registered, by name or by its program; the one named nvidia first."""
    programs = {name: os.path.basename(daemon.runtime_paths.get(name, "")) for name in daemon.runtimes}
    names = [name for name, program in programs.items() if name == "nvidia" or program.startswith(_RUNTIME)]
    return tuple(sorted(names, key=lambda name: (name != "nvidia", name)))


def has_cdi(daemon: DaemonInfo) -> bool:
    """Whether the daemon itself has found CDI descriptions of NVIDIA devices."""
    return any(device.startswith(_CDI_KIND) for device in daemon.cdi_devices)


def gpu_way(daemon: DaemonInfo) -> GpuWay:
    """By the daemon's own kernel and registrations, never by this machine's (GPU-09)."""
    runtimes = nvidia_runtimes(daemon)
    if daemon.tegra:
        return GpuWay("runtime", runtimes[0] if runtimes else "nvidia")
    return GpuWay("cdi") if has_cdi(daemon) and not runtimes else BY_DEVICES


def gpu_request(job: Job | None, way: GpuWay = BY_DEVICES) -> GpuRequest:
    """The job's request: explicit device IDs before a count, -1 for all, nothing for 0. Without a job, all."""
    count = job.gpus if job is not None else -1
    ids = named_ids(job)
    if count == 0:
        return GpuRequest((), "", {}, "no GPU")
    if way.kind == "runtime":
        visible = ",".join(ids) or "all"
        variables = {"NVIDIA_VISIBLE_DEVICES": visible, "NVIDIA_DRIVER_CAPABILITIES": "all"}
        options = " ".join(f"-e {name}={value}" for name, value in variables.items())
        return GpuRequest((), way.runtime, variables, f"--runtime {way.runtime} {options}")
    if way.kind == "cdi":
        names = [f"{_CDI_KIND}={one}" for one in ids or _first(count)]
        return GpuRequest((_request("cdi", names),), "", {}, " ".join(f"--device {name}" for name in names))
    if ids:
        return GpuRequest((_request("", ids),), "", {}, f"--gpus '\"device={','.join(ids)}\"'")
    return GpuRequest((_request("", [], count),), "", {}, f"--gpus {'all' if count < 0 else count}")


def _first(count: int) -> list[str]:
    """Names of the first `count` devices, `all` for -1."""
    return ["all"] if count < 0 else [str(index) for index in range(count)]


def _request(driver: str, ids: list[str], count: int = 0) -> Mapping[str, Any]:
    """Count and IDs exclude each other: the daemon refuses both together."""
    asked: dict[str, Any] = {"DeviceIDs": ids} if ids else {"Count": count}
    capabilities = [] if driver == "cdi" else [["gpu"]]
    return {"Driver": driver, "Capabilities": capabilities, "Options": {}, **asked}


def toolkit_facts(daemon: DaemonInfo, host: Shell, deadline: float) -> ToolkitFacts:
    """The registration by the daemon's word, the version by the host's tools; a missing version is a fault kept."""
    names = nvidia_runtimes(daemon)
    registered = [f"runtime {name}" for name in names]
    if has_cdi(daemon):
        registered.append("CDI")
    version, fault = _toolkit_version(host, deadline)
    return ToolkitFacts(" and ".join(registered), version, daemon.runtimes, fault, _note(daemon, names))


def _note(daemon: DaemonInfo, names: tuple[str, ...]) -> str:
    if names and "nvidia" not in names:
        return f"the NVIDIA runtime is named {names[0]} here: `--runtime {names[0]}`, not `--runtime nvidia`"
    if not names and has_cdi(daemon):
        return f"GPUs are given by CDI names alone: `--device {_CDI_KIND}=all`"
    return ""


def _toolkit_version(host: Shell, deadline: float) -> tuple[str, Fault | None]:
    try:
        done = host.run(_ASK_VERSION, deadline=deadline, what="nvidia-ctk --version")
    except Fault as fault:
        return "", fault
    match = _VERSION.search(done.stdout.decode(errors="replace"))
    if match:
        return match.group(1), None
    words = done.stderr.decode(errors="replace").strip().splitlines()
    return "", ToolMissing(
        f"the NVIDIA Container Toolkit's version is unknown: nvidia-ctk is not on the PATH of {host.target}",
        detail=words[0] if words else "",
        remedy="Install the NVIDIA Container Toolkit on the docker host: its nvidia-ctk tells the version",
    )
