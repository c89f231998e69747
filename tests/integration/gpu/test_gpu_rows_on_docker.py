"""GPU rows on a simulated GPU host: the right row, its cause and its remedy for each state of the host.

The sandbox that these tests may run in cannot grant locked memory, so only the rows about GPUs are looked at.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from services.docker_platforms import docker_platform
from services.dockerd import Dockerd
from services.gpu_host import CUDA_IMAGE, DOUBLES, GpuHost
from suite_runs import Finished, job_text, run

from gonogo.jobs.model import Job
from gonogo.platforms.docker.gpu_probe import GpuProbe
from gonogo.platforms.docker.identity import JobUser
from gonogo.platforms.probe.questions import GpuQuestion

T4 = {"name": "Tesla T4", "compute_cap": "7.5", "memory.total": 15360}
ALWAYS = ("GPU-01", "GPU-02", "GPU-03", "GPU-04", "GPU-05", "GPU-07", "GPU-08", "GPU-09")
Check = Callable[..., Finished]


@pytest.fixture
def check(gpu_host: GpuHost, tmp_path: Path) -> Check:
    """Run the suite for a job on one GPU of this host; keywords are further keys of the job file."""

    def checked(*options: str, **fields: Any) -> Finished:
        job = {"image": gpu_host.image, "run_as": "65534:65534", "gpus": 1, **fields}
        return run(
            tmp_path,
            *options,
            job=job_text(**job),
            platform="local-docker",
            DOCKER_HOST=gpu_host.url,
            PATH=gpu_host.path,
        )

    return checked


def evidence(done: Finished, row: str) -> dict[str, str]:
    return {one["name"]: one["text"] for one in done.row(row)["evidence"]}


def test_a_good_host(gpu_host: GpuHost, check: Check) -> None:
    before = gpu_host.daemon.inventory()
    done = check(gpus=2, requires={"gpu_memory": "40 GiB", "exclusive_gpus": True})
    done.fine(*ALWAYS, "GPU-06", "IMG-05")
    assert done.row("GPU-01")["found"] == "580.65.06"
    assert done.row("GPU-02")["found"] == "13.0"
    assert done.row("GPU-09")["found"] == "--gpus 2"
    assert evidence(done, "GPU-07")["chosen"] == "0, 1"
    assert evidence(done, "IMG-05")["told_by"] == "TORCH_CUDA_ARCH_LIST of the image"
    assert gpu_host.daemon.inventory() == before, "nothing is left behind"
    assert "GPU-10" not in {row["id"] for row in done.report["rows"]}, "a deep row is asked with --deep only"


def test_an_old_driver(gpu_host: GpuHost, check: Check) -> None:
    gpu_host.set(driver_version="470.57.02", cuda_version="11.4", unknown_fields=["compute_cap"])
    done = check()
    done.broken("GPU-01", "driver 470.57.02 does not meet >=580", remedy="Install a driver that meets >=580")
    done.broken("GPU-02", "CUDA 11.4 does not meet >=13.0", remedy="580.65.06 came with it")
    done.broken("IMG-05", "does not tell its compute capability", remedy="newer driver", state="unverified")
    done.fine("GPU-03", "GPU-04", "GPU-05")


def test_no_devices_with_exit_code_0(gpu_host: GpuHost, check: Check) -> None:
    gpu_host.set(gpus=[], no_devices_exit=0)
    done = check()
    done.broken("GPU-01", "finds no devices", remedy="`gpus: 0`")
    done.blocked("GPU-02", "GPU-04", "GPU-05", "GPU-07", "IMG-05", by="GPU-01")


def test_a_driver_that_hangs_is_bounded_and_holds_nothing_else_back(gpu_host: GpuHost, check: Check) -> None:
    gpu_host.set(hang=True)
    done = check("--probe-timeout=7", inputs=[{"name": "hosts", "uri": "/etc/hosts"}])
    done.broken("GPU-01", "did not answer in time", remedy="dmesg", state="unverified")
    done.blocked("GPU-02", "GPU-04", "GPU-05", "GPU-07", "IMG-05", by="GPU-01")
    done.fine("DOCK-01", "GPU-03", "GPU-09")
    asked = next(probe for probe in done.report["probes"] if probe["name"] == "gpu_container")
    assert asked["state"] != "answered", "no container is started against a driver that does not answer"


def test_unknown_memory_is_not_enough_and_bytes_that_are_no_text_do_no_harm(gpu_host: GpuHost, check: Check) -> None:
    gpu_host.set(gpus=[{"memory.total": "[N/A]", "name": "NVIDIA \udcff\udcfe"}])
    done = check(requires={"gpu_memory": "40 GiB"})
    done.fine(*ALWAYS, "IMG-05")
    done.broken("GPU-06", "does not tell its memory", remedy="Attest", state="unverified")


def test_only_chosen_devices_are_judged(gpu_host: GpuHost, check: Check) -> None:
    gpu_host.set(gpus=[{}, T4])
    needs = {"gpu_memory": "40 GiB", "compute_capability": ["9.0"]}
    check(docker={"gpu_ids": [0]}, requires=needs).fine(*ALWAYS, "GPU-06", "IMG-05")
    both = check(gpus=2, requires=needs)
    both.broken("GPU-05", "GPU 1 (Tesla T4) has compute capability 7.5", remedy="docker.gpu_ids")
    both.broken("GPU-06", "GPU 1 (Tesla T4) has 15 GiB", remedy="larger GPUs")
    both.broken("IMG-05", "no code for compute capability 7.5 (GPU 1, Tesla T4)", remedy="built for 7.5")


def test_a_device_by_id_is_numbered_anew_inside(gpu_host: GpuHost, check: Check) -> None:
    process = {"gpu": 0, "pid": 4242, "process_name": "python3", "used_memory": 70000}
    gpu_host.set(gpus=[{"count": 4}], processes=[process])
    done = check(docker={"gpu_ids": [3]}, requires={"exclusive_gpus": True})
    done.fine("GPU-04", "GPU-05", "GPU-07")
    assert evidence(done, "GPU-05")["numbers"] == "3 of the host is 0 inside"
    assert evidence(done, "GPU-07")["chosen"] == "3", "the busy device 0 of the host is not the 0 inside"


def test_a_busy_device(gpu_host: GpuHost, check: Check) -> None:
    process = {"gpu": 0, "pid": 4242, "process_name": "python3", "used_memory": 70000}
    gpu_host.set(gpus=[{"count": 3}], processes=[process])
    done = check(gpus=2, requires={"exclusive_gpus": True})
    done.broken("GPU-07", "GPU 0 is used by python3 (pid 4242)", remedy="gpu_ids: [1, 2]")


def test_mig(gpu_host: GpuHost, check: Check) -> None:
    gpu_host.set(gpus=[{"mig": [{"profile": "1g.10gb"}, {"profile": "3g.40gb"}]}])
    check().broken("GPU-08", "MIG is on, and the job names no MIG instance", remedy="", state="warned")
    job = Job(
        name="tiny", image=gpu_host.image, gpus=1, docker={"gpu_ids": ["MIG-00000000-0000-0000-0000-000000000001"]}
    )
    platform = docker_platform(gpu_host.url, job)
    try:
        (seen,) = platform.gpu_container(deadline=20).gpus
    finally:
        platform.close()
    assert seen.mig_devices == ("MIG-00000000-0000-0000-0000-000000000001",), "the instance named, and no other"


def test_sick_devices_are_named(gpu_host: GpuHost, check: Check) -> None:
    gpu_host.set(gpus=[{"remapped_rows.pending": 1, "clocks_throttle_reasons.active": "0x40"}])
    gpu_host.install("dmesg", "echo '[    1.5] NVRM: Xid (PCI:0000:1B:00): 79, pid=1, GPU has fallen off the bus.'")
    row = check().broken("GPU-08", "a row remap is pending", remedy="Reset", state="warned")
    assert "slowed down by thermal (hardware)" in row["message"]
    assert "GPU 0: Xid 79 in the kernel log" in row["message"]


def test_no_device_of_that_id(check: Check) -> None:
    done = check(docker={"gpu_ids": [9]})
    done.broken("GPU-05", "no such device: 9", remedy="nvidia-smi -L")
    done.blocked("GPU-04", "GPU-07", "IMG-05", by="GPU-05")


def test_cuda_visible_devices_is_empty(check: Check) -> None:
    done = check(env={"CUDA_VISIBLE_DEVICES": ""})
    done.broken("GPU-05", "0 GPUs are visible, the job asks for 1", remedy="Correct CUDA_VISIBLE_DEVICES")
    done.blocked("GPU-07", "IMG-05", by="GPU-05")
    assert done.row("GPU-08")["state"] == "blocked"


def test_the_hook_finds_no_driver(gpu_host: GpuHost, check: Check) -> None:
    gpu_host.set(hook_error="initialization error: nvml error: driver not loaded: unknown")
    done = check()
    done.broken("GPU-04", "does not answer the container toolkit", remedy="sudo modprobe nvidia")
    done.blocked("GPU-05", "GPU-07", "IMG-05", by="GPU-04")
    assert "nvml error: driver not loaded" in done.detail("GPU-04"), "the hook's own line is kept"
    done.fine("GPU-01", "GPU-02", "GPU-03")


def test_an_image_that_needs_a_newer_cuda(gpu_host: GpuHost, check: Check) -> None:
    image = gpu_host.make_image("newer-cuda", [*CUDA_IMAGE, "ENV NVIDIA_REQUIRE_CUDA='cuda>=13.1 brand=tesla'"])
    done = check(image=image)
    done.broken("GPU-04", "the image needs cuda>=13.1, which the host's driver does not offer", remedy="newer driver")


def test_the_host_has_no_nvidia_smi_of_its_own(gpu_host: GpuHost, check: Check) -> None:
    gpu_host.install("nvidia-smi", None)
    done = check(requires={"exclusive_gpus": True})
    done.fine("GPU-01", "GPU-02", "GPU-04", "GPU-05", "IMG-05")
    assert evidence(done, "GPU-01")["told_by"] == f"a container of {gpu_host.image}"
    message = "the host's processes are not seen from inside a container"
    done.broken("GPU-07", message, remedy="Ask on the host itself", state="unverified")


def test_an_old_toolkit(gpu_host: GpuHost, check: Check) -> None:
    gpu_host.install_toolkit("1.17.8")
    done = check()
    done.broken("GPU-03", "NVIDIA Container Toolkit 1.17.8 does not meet >=1.19.0", remedy="Install the NVIDIA")
    done.fine("GPU-04")


def test_toolkit_is_missing(docker_daemon: Dockerd, tmp_path: Path) -> None:
    """A host with a driver and a daemon that nobody told about it."""
    (tmp_path / "scenario.json").write_text('{"driver_version": "580.65.06", "cuda_version": "13.0", "gpus": [{}]}')
    done = run(
        tmp_path,
        job=job_text(image=docker_daemon.busybox, run_as="65534:65534", gpus=1),
        platform="local-docker",
        DOCKER_HOST=docker_daemon.url,
        FAKE_GPU_SCENARIO=str(tmp_path / "scenario.json"),
        PATH=f"{DOUBLES}:/usr/sbin:/usr/bin:/sbin:/bin",
    )
    done.broken("GPU-03", "the daemon knows no NVIDIA runtime, only", remedy="nvidia-ctk runtime configure")
    done.blocked("GPU-04", "GPU-05", "GPU-07", "IMG-05", by="GPU-03")
    done.fine("GPU-01", "GPU-02", "GPU-09")


def test_the_runtime_has_another_name(gpu_host: GpuHost, check: Check) -> None:
    gpu_host.name_runtime("gpus")
    try:
        done = check()
    finally:
        gpu_host.name_runtime("nvidia")
    done.fine("GPU-03", "GPU-04")
    assert "runtime gpus" in done.row("GPU-03")["found"]
    assert "`--runtime gpus`, not `--runtime nvidia`" in evidence(done, "GPU-03")["how_to_ask"]


def test_the_container_is_started_as_the_job_will_be(gpu_host: GpuHost) -> None:
    """User, request and GPU variables of the job; seen in what the daemon was asked to create."""
    job = Job(name="tiny", image=gpu_host.image, gpus=1, env={"NVIDIA_DRIVER_CAPABILITIES": "all", "A": "b"})
    platform = docker_platform(gpu_host.url, job)
    try:
        probe = GpuProbe(platform.connection, job, platform.gpu_way(), JobUser(1234, 1235, (44,)), "test")
        spec, _ = probe._spec(GpuQuestion())
        assert (spec.user, tuple(spec.groups), spec.environment) == (
            "1234:1235",
            (44,),
            {"NVIDIA_DRIVER_CAPABILITIES": "all"},
        )
        seen = platform.gpu_container(deadline=20, user=JobUser(1234, 1235))
    finally:
        platform.close()
    assert [gpu.index for gpu in seen.gpus] == [0]
