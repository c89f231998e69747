"""How GPUs are asked for: by the daemon's own kernel and registrations, in the probe as in the launch."""

from __future__ import annotations

import platform as this_machine
from pathlib import Path

from services.docker_platforms import docker_platform, submission
from services.gpu_host import GpuHost
from services.info_proxy import daemon_that_says
from suite_runs import job_text, run

from gonogo.jobs.model import Job

TEGRA = {"KernelVersion": "5.15.148-tegra"}


def test_tegra(gpu_host: GpuHost, tmp_path: Path) -> None:
    job = job_text(image=gpu_host.image, run_as="65534:65534", gpus=1)
    with daemon_that_says(gpu_host.daemon.socket, tmp_path / "tegra.sock", TEGRA) as url:
        done = run(tmp_path, job=job, platform="local-docker", DOCKER_HOST=url, PATH=gpu_host.path)
        done.fine("GPU-09", "GPU-04", "GPU-05")
        assert done.row("GPU-09")["found"] == (
            "--runtime nvidia -e NVIDIA_VISIBLE_DEVICES=all -e NVIDIA_DRIVER_CAPABILITIES=all"
        )
        gpu_host.name_runtime("")
        try:
            done = run(tmp_path, job=job, platform="local-docker", DOCKER_HOST=url, PATH=gpu_host.path)
        finally:
            gpu_host.name_runtime("nvidia")
        done.broken("GPU-09", "a Tegra host needs the runtime nvidia", remedy="nvidia-ctk runtime configure")


def test_the_client_kernel_does_not_count(gpu_host: GpuHost) -> None:
    assert "tegra" not in this_machine.release()
    platform = docker_platform(gpu_host.url, Job(name="tiny", gpus=2))
    try:
        assert platform.gpu_way().kind == "devices"
    finally:
        platform.close()


def test_launch_on_tegra_asks_as_the_probe_did(gpu_host: GpuHost, tmp_path: Path) -> None:
    with daemon_that_says(gpu_host.daemon.socket, tmp_path / "tegra.sock", TEGRA) as url:
        platform = docker_platform(url)
        try:
            spec = platform._spec(submission("one", gpu_host.image, ["true"], gpus=1), platform.gpu_way())
        finally:
            platform.close()
    assert (spec.gpus.runtime, spec.gpus.devices) == ("nvidia", ())
    assert spec.gpus.environment == {"NVIDIA_VISIBLE_DEVICES": "all", "NVIDIA_DRIVER_CAPABILITIES": "all"}


def test_devices_by_cdi_names_alone(gpu_host: GpuHost, tmp_path: Path) -> None:
    """A daemon without NVIDIA's runtime that has found CDI descriptions (Docker 28)."""
    changes = {"DiscoveredDevices": [{"Source": "cdi", "ID": "nvidia.com/gpu=all"}], "Runtimes": {"runc": {}}}
    with daemon_that_says(gpu_host.daemon.socket, tmp_path / "cdi.sock", changes) as url:
        platform = docker_platform(url, Job(name="tiny", gpus=2))
        try:
            assert platform.gpu_way().kind == "cdi"
            toolkit = platform.toolkit()
        finally:
            platform.close()
    assert toolkit.registered == "CDI"
    assert "--device nvidia.com/gpu=all" in toolkit.note
