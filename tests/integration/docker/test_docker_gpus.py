"""GPU requests through a real dockerd and runc; the host is simulated (services/gpu_host.py)."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import pytest
from services.docker_platforms import docker_platform
from services.dockerd import Dockerd
from services.gpu_host import GpuHost

from gonogo.jobs.model import Job
from gonogo.platforms.docker.gpu import GpuContainer
from gonogo.platforms.faults import Fault, NotFound, Refused, ToolMissing, Unreachable

GPUS: list[dict[str, Any]] = [{}, {}, {"memory.total": 40960}]


def look(host: GpuHost, job: Job | None = None, **changes: Any) -> GpuContainer:
    """What a container with the job's request sees on a host of that scenario."""
    host.set(**{"gpus": GPUS, **changes})
    platform = docker_platform(host.url, job, smoke_image=host.daemon.busybox)
    try:
        return platform.gpu_container(deadline=30)
    finally:
        platform.close()
        assert host.daemon.client().containers.list(all=True) == []


def job_with(**fields: Any) -> Job:
    return Job(name="gpus", command="true", run_as="65534:65534", **fields)


def test_all_devices_are_listed(gpu_host: GpuHost) -> None:
    seen = look(gpu_host)
    assert [gpu.index for gpu in seen.gpus] == [0, 1, 2]
    assert [gpu.memory_total for gpu in seen.gpus] == [81559 * 2**20, 81559 * 2**20, 40960 * 2**20]
    assert (seen.driver, seen.cuda, seen.request, seen.image) == (
        "580.65.06",
        "13.0",
        "--gpus all",
        gpu_host.daemon.busybox,
    )


def test_count_and_ids_reach_the_daemon(gpu_host: GpuHost) -> None:
    assert len(look(gpu_host, job_with(gpus=2)).gpus) == 2
    named = look(gpu_host, job_with(gpus=1, docker={"gpu_ids": [2]}))
    assert [gpu.memory_total for gpu in named.gpus] == [40960 * 2**20]
    assert named.request == "--gpus '\"device=2\"'"


@pytest.mark.parametrize(
    ("job", "changes", "kind", "words"),
    [
        (job_with(gpus=1, docker={"gpu_ids": [9]}), {}, NotFound, "the host has no GPU 9"),
        (
            None,
            {"hook_error": "initialization error: nvml error: driver not loaded"},
            Unreachable,
            "driver does not answer",
        ),
        (
            None,
            {"hook_error": "requirement error: unsatisfied condition: cuda>=12.8, please update your driver"},
            Refused,
            "the image needs cuda>=12.8, which the host's driver does not offer",
        ),
        (None, {"no_smi": True}, ToolMissing, "has no nvidia-smi"),
        (
            None,
            {"smi_error": [9, "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver."]},
            Unreachable,
            "cannot talk to the driver",
        ),
        (None, {"smi_error": [6, "No devices were found"]}, NotFound, "finds no devices"),
    ],
)
def test_troubles_are_told_apart(
    gpu_host: GpuHost, job: Job | None, changes: dict[str, Any], kind: type[Fault], words: str
) -> None:
    with pytest.raises(Fault) as raised:
        look(gpu_host, job, **changes)
    assert type(raised.value) is kind
    assert words in raised.value.message
    assert raised.value.remedy


def test_daemon_without_the_toolkit(docker_daemon: Dockerd) -> None:
    platform = docker_platform(docker_daemon.url, smoke_image=docker_daemon.busybox)
    with pytest.raises(Refused, match="no driver for GPU requests") as raised:
        platform.gpu_container(deadline=30)
    assert "nvidia-ctk runtime configure" in raised.value.remedy
    assert "capabilities: [[gpu]]" in raised.value.detail
    assert platform.toolkit().registered == ""
    platform.close()


@pytest.mark.parametrize(
    ("program", "text", "version"),
    [
        ("nvidia-ctk", "NVIDIA Container Toolkit CLI version 1.19.0", "1.19.0"),
        ("nvidia-ctk", "NVIDIA Container Toolkit CLI version 1.18.0-rc.2", "1.18.0-rc.2"),
        ("nvidia-container-toolkit", "NVIDIA Container Runtime Hook version 1.14.6", "1.14.6"),
        ("nvidia-container-cli", "cli-version: 1.13.5", "1.13.5"),
    ],
)
def test_toolkit_of_the_host(
    gpu_host: GpuHost, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, program: str, text: str, version: str
) -> None:
    (tmp_path / program).write_text(f"#!/bin/sh\necho '{text}'\n")
    (tmp_path / program).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    platform = docker_platform(gpu_host.url)
    facts = platform.toolkit()
    assert (facts.registered, facts.version, facts.version_fault) == ("runtime nvidia", version, None)
    platform.close()


def test_toolkit_whose_version_nobody_tells(gpu_host: GpuHost) -> None:
    if shutil.which("nvidia-ctk"):
        pytest.skip("this host has the NVIDIA Container Toolkit")
    platform = docker_platform(gpu_host.url)
    facts = platform.toolkit()
    assert facts.version == ""
    assert isinstance(facts.version_fault, ToolMissing)
    assert "nvidia-ctk is not on the PATH" in facts.version_fault.message
    platform.close()
