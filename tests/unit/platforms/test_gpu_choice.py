"""Which devices a job takes, who uses them, and what is not normal about them."""

from __future__ import annotations

from typing import Any

import pytest

from gonogo.jobs.model import Job
from gonogo.platforms.docker.facts import DaemonInfo
from gonogo.platforms.docker.gpu import BY_DEVICES, GpuContainer, gpu_request, gpu_way, nvidia_runtimes
from gonogo.platforms.gpu_choice import choose_free, occupied, requested, seen_inside, taken_in_container, too_few
from gonogo.platforms.gpu_health import health_problems, mig_problem, xid_problems
from gonogo.platforms.gpus import VisibleGpus
from gonogo.platforms.probe.answers import Gpu, GpuAnswer, GpuProcess, GpuXid

GIB = 1024**3


def gpu(index: int, uuid: str | None = None, **fields: Any) -> Gpu:
    values = {"name": "H100", "memory_total": 80 * GIB, "memory_used": 0, "compute_cap": "9.0", **fields}
    return Gpu(index=index, uuid=uuid or f"GPU-{index}a5f0000", **values)


def answer(*gpus: Gpu, **fields: Any) -> GpuAnswer:
    return GpuAnswer("", "", 0, "580.65", "13.0", gpus, **{"processes": (), **fields})


def job(gpus: int = 1, ids: list[object] | None = None, **env: str) -> Job:
    docker = {"docker": {"gpu_ids": ids}} if ids else {}
    return Job(name="tiny", gpus=gpus, env=env, **docker)


FOUR = answer(*(gpu(index) for index in range(4)))


def test_a_count_takes_the_first_and_ids_what_they_name() -> None:
    assert [one.index for one in requested(job(2), FOUR).gpus] == [0, 1]
    assert [one.index for one in requested(job(-1), FOUR).gpus] == [0, 1, 2, 3]
    assert [one.index for one in requested(job(2, [3, "GPU-1a5f0000"]), FOUR).gpus] == [3, 1]
    assert [one.index for one in requested(job(2, [3, "GPU-3a5f0000"]), FOUR).gpus] == [3], "the same device twice"
    assert requested(job(1, [9]), FOUR).missing == ("9",)
    assert not requested(job(1), None).asked


@pytest.mark.parametrize(
    ("asked", "words"),
    [(job(8), "4 GPUs are visible"), (job(1, [7]), "no such device: 7"), (job(2, [0]), "1 GPUs are visible")],
)
def test_too_few(asked: Job, words: str) -> None:
    fault = too_few(asked, requested(asked, FOUR))
    assert fault is not None
    assert words in fault.message


def test_enough_or_nobody_to_ask() -> None:
    assert too_few(job(4), requested(job(4), FOUR)) is None
    assert too_few(job(8), VisibleGpus((), (), asked=False)) is None


def test_inside_the_container_the_numbers_are_new() -> None:
    asked = job(1, [3])
    seen = seen_inside(asked, [gpu(0, "GPU-3a5f0000")], requested(asked, FOUR))
    assert (seen.numbers, seen.missing) == (((3, 0),), ())


def test_another_device_than_the_one_named_came_through() -> None:
    asked = job(1, [3])
    seen = seen_inside(asked, [gpu(0, "GPU-0")], requested(asked, FOUR))
    assert seen.missing == ("3 of the host (GPU-3a5f0000)",)


def test_cuda_visible_devices_counts_inside() -> None:
    inside = [gpu(0, "GPU-2a5f0000"), gpu(1, "GPU-3a5f0000")]
    asked = job(1, [2, 3], CUDA_VISIBLE_DEVICES="1")
    assert [one.uuid for one in seen_inside(asked, inside, requested(asked, FOUR)).gpus] == ["GPU-3a5f0000"]
    container = GpuContainer(tuple(inside), "image", "--gpus", "580.65", "13.0")
    assert [one.index for one in taken_in_container(asked, container, FOUR, "here").chosen] == [3]
    assert taken_in_container(asked, container, None, "here").source == "a container of image"


def test_the_devices_of_another_host_are_not_taken_for_this_ones() -> None:
    container = GpuContainer((gpu(0, "GPU-far"),), "image", "--gpus 1", "580.65", "13.0")
    assert taken_in_container(job(1), container, FOUR, "here").source == "a container of image"


def test_free_devices_are_chosen_before_busy_ones() -> None:
    host = answer(
        gpu(0),
        gpu(1, memory_used=70 * GIB),
        gpu(2, mig_mode="Enabled"),
        gpu(3),
        gpu(4),
        processes=(GpuProcess(7, "python3", "GPU-0a5f0000", None),),
    )
    assert occupied(host, host.gpus[0]) == "python3 (pid 7)"
    assert "not listed (70 GiB in use)" in occupied(host, host.gpus[1])
    assert occupied(host, host.gpus[3]) == ""
    assert [one.index for one in choose_free(host, 2)] == [3, 4]
    assert len(choose_free(host, 8)) == 2
    assert choose_free(host, -1) == []


def test_health() -> None:
    assert health_problems(gpu(0, persistence="Enabled", ecc_uncorrected=0, throttled=())) == []
    sick = gpu(0, ecc_uncorrected=3, remap_failed=True, persistence="Disabled", raw={"compute_mode": "Prohibited"})
    assert len(health_problems(sick)) == 4


def test_mig_as_the_job_expects() -> None:
    slices = gpu(0, mig_mode="Enabled", mig_devices=("MIG-a",))
    assert mig_problem(slices, ["MIG-a"]) == ""
    assert "names no MIG instance" in mig_problem(slices, [])
    assert "has no instance" in mig_problem(gpu(0, mig_mode="Enabled"), ["MIG-a"])
    assert mig_problem(gpu(0, mig_mode="Disabled"), []) == ""


def test_xids_are_told_by_the_bus() -> None:
    one, other = gpu(0, raw={"pci.bus_id": "00000000:3B:00.0"}), gpu(1, raw={"pci.bus_id": "00000000:86:00.0"})
    logged = answer(one, other, xids=(GpuXid("0000:3b:00", 79, ""), GpuXid("0000:3b:00", 79, "")))
    assert xid_problems(logged, [one, other]) == ["GPU 0: Xid 79 in the kernel log"]
    assert xid_problems(answer(one), [one]) == []


def daemon(**fields: Any) -> DaemonInfo:
    values: dict[str, Any] = dict.fromkeys(DaemonInfo.__dataclass_fields__, "")
    values.update(runtimes=("runc",), cdi_devices=(), cdi_dirs=(), security=(), runtime_paths={}, kernel="6.1.0")
    return DaemonInfo(**{**values, **fields})


def test_ways_of_asking() -> None:
    cdi = ("nvidia.com/gpu=0", "nvidia.com/gpu=all")
    both = daemon(runtimes=("nvidia", "runc"), cdi_devices=cdi)
    assert gpu_way(daemon()) == BY_DEVICES == gpu_way(both)
    assert gpu_way(daemon(cdi_devices=cdi)).kind == "cdi"
    named = daemon(
        kernel="5.15-tegra", runtimes=("jetson",), runtime_paths={"jetson": "/usr/bin/nvidia-container-runtime"}
    )
    assert gpu_way(named).runtime == "jetson"
    assert nvidia_runtimes(daemon(runtimes=("a", "nvidia"), runtime_paths={"a": "nvidia-container-runtime.cdi"})) == (
        "nvidia",
        "a",
    )


def test_requests() -> None:
    by_cdi, tegra = gpu_way(daemon(cdi_devices=("nvidia.com/gpu=0",))), gpu_way(daemon(kernel="5.15-tegra"))
    assert gpu_request(job(2)).devices[0]["Count"] == 2
    assert "DeviceIDs" not in gpu_request(job(2)).devices[0], "count and IDs exclude each other"
    assert gpu_request(job(1, [3])).devices[0]["DeviceIDs"] == ["3"]
    assert gpu_request(job(2), by_cdi).devices[0]["DeviceIDs"] == ["nvidia.com/gpu=0", "nvidia.com/gpu=1"]
    assert gpu_request(None, by_cdi).words == "--device nvidia.com/gpu=all"
    assert gpu_request(job(1, [0]), tegra).environment["NVIDIA_VISIBLE_DEVICES"] == "0"
    assert gpu_request(job(0), tegra).devices == ()
