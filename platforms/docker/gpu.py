"""GPUs as the daemon gives them: the request, the toolkit behind it, what a container then sees (GPU-03 to GPU-05)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gonogo.jobs.model import Job
from gonogo.platforms.docker.facts import DaemonInfo
from gonogo.platforms.faults import Fault, ToolMissing
from gonogo.platforms.probe.answers import Gpu, GpuAnswer
from gonogo.platforms.shell import Shell

#: Prints the version of whichever part of the toolkit is there. Source: NVIDIA Container Toolkit 1.14 to 1.18.
_ASK_VERSION = b"nvidia-ctk --version || nvidia-container-toolkit --version || nvidia-container-cli --version\n"
_VERSION = re.compile(r"version:?\s+v?([0-9]+\.[0-9]+(?:\.[0-9]+)?(?:[-~+][0-9A-Za-z.]+)?)")


@dataclass(frozen=True)
class ToolkitFacts:
    """How the daemon would serve a GPU request: `registered` names the way (`runtime nvidia`, `CDI`), empty for none.

    `version` is the toolkit's on the host; where it could not be had, `version_fault` says why.
    """

    registered: str
    version: str
    runtimes: tuple[str, ...]
    version_fault: Fault | None = None


@dataclass(frozen=True)
class GpuContainer:
    """What a container with the job's GPU request saw: `request` in words, `driver` and `cuda` as versions."""

    gpus: tuple[Gpu, ...]
    image: str
    request: str
    driver: str = ""
    cuda: str = ""


@dataclass(frozen=True)
class GpuRequest:
    """How GPUs are asked of the daemon: device requests, or on Tegra the nvidia runtime and two variables (GPU-09)."""

    devices: tuple[Mapping[str, Any], ...]
    runtime: str
    environment: Mapping[str, str]
    words: str


def gpu_request(job: Job | None, *, tegra: bool = False) -> GpuRequest:
    """The job's request: explicit device IDs before a count, -1 for all, nothing for 0. Without a job, all."""
    count = job.gpus if job is not None else -1
    ids = [str(one) for one in job.docker.gpu_ids] if job is not None and job.docker is not None else []
    if count == 0:
        return GpuRequest((), "", {}, "no GPU")
    if tegra:
        visible = ",".join(ids) or "all"
        variables = {"NVIDIA_VISIBLE_DEVICES": visible, "NVIDIA_DRIVER_CAPABILITIES": "all"}
        return GpuRequest((), "nvidia", variables, f"--runtime nvidia -e NVIDIA_VISIBLE_DEVICES={visible}")
    if ids:
        return GpuRequest((_device_request(ids=ids),), "", {}, f"--gpus '\"device={','.join(ids)}\"'")
    return GpuRequest((_device_request(count=count),), "", {}, f"--gpus {'all' if count < 0 else count}")


def _device_request(*, ids: list[str] | None = None, count: int = 0) -> Mapping[str, Any]:
    """Count and IDs exclude each other: the daemon refuses both together."""
    asked: dict[str, Any] = {"DeviceIDs": ids} if ids else {"Count": count}
    return {"Driver": "", "Capabilities": [["gpu"]], "Options": {}, **asked}


def toolkit_facts(daemon: DaemonInfo, host: Shell, deadline: float) -> ToolkitFacts:
    """The registration by the daemon's word, the version by the host's tools; a missing version is a fault kept."""
    registered = [f"runtime {name}" for name in daemon.runtimes if name == "nvidia"]
    if any("nvidia.com/gpu" in device for device in daemon.cdi_devices):
        registered.append("CDI")
    version, fault = _toolkit_version(host, deadline)
    return ToolkitFacts(" and ".join(registered), version, daemon.runtimes, fault)


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
        remedy="install the NVIDIA Container Toolkit on the docker host: its nvidia-ctk tells the version",
    )


def seen_by_container(answer: GpuAnswer, image: str, request: GpuRequest) -> GpuContainer:
    """The devices, or the Fault that nvidia-smi's absence in the container is."""
    if answer.trouble == "absent":
        raise ToolMissing(
            f"a container of {image} was started with {request.words} but has no nvidia-smi",
            remedy="set NVIDIA_DRIVER_CAPABILITIES: compute,utility in `env`, or register the NVIDIA Container Toolkit",
        )
    return GpuContainer(tuple(answer.gpus), image, request.words, answer.driver, answer.cuda)
