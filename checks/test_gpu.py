"""GPU: driver, CUDA, toolkit, and the devices that the job will see."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from gonogo.fixtures.outcomes import Notes
from gonogo.fixtures.requirement import requirement, warn
from gonogo.jobs.model import Job
from gonogo.jobs.sizes import format_size
from gonogo.platforms import gpus
from gonogo.platforms.probe.answers import Gpu, GpuAnswer, TorchAnswer
from gonogo.platforms.versions import meets

if TYPE_CHECKING:
    from gonogo.platforms.docker.gpu import GpuContainer, ToolkitFacts


def _visible(job: Job | None, answer: GpuAnswer) -> list[Gpu]:
    return gpus.visible(answer.gpus, gpus.selection(job, os.environ))[0]


def _used(job: Job | None, answer: GpuAnswer) -> list[Gpu]:
    return gpus.used_by_job(_visible(job, answer), job.gpus if job is not None else -1)


@requirement("GPU-01", remedy="Install a driver that meets {expected}")
def test_driver_is_new_enough(minimums: gpus.Minimums, node_gpus: GpuAnswer | None, evidence: Notes) -> None:
    """The NVIDIA driver answers and meets the minimum."""
    if node_gpus is None:
        return evidence(found="no NVIDIA driver here, and no job that asks for a GPU")
    minimum = minimums.driver
    evidence(found=node_gpus.driver, expected=minimum.bound or "any version", minimum=minimum.origin)
    assert node_gpus.driver, "nvidia-smi names no driver version"
    assert not minimum.bound or meets(minimum.bound, node_gpus.driver), (
        f"driver {node_gpus.driver} does not meet {minimum.bound}"
    )
    return None


@requirement(
    "GPU-02", remedy="Install a driver whose CUDA level meets {expected}, or use a program built for an older CUDA"
)
def test_cuda_level_is_high_enough(minimums: gpus.Minimums, node_gpus: GpuAnswer | None, evidence: Notes) -> None:
    """The CUDA level that the driver reports meets the minimum."""
    if node_gpus is None:
        return
    minimum = minimums.cuda
    evidence(found=node_gpus.cuda, expected=minimum.bound or "any version", minimum=minimum.origin)
    assert node_gpus.cuda or not minimum.bound, "nvidia-smi reports no CUDA version"
    assert not minimum.bound or meets(minimum.bound, node_gpus.cuda), (
        f"CUDA {node_gpus.cuda} does not meet {minimum.bound}"
    )


@requirement("GPU-03")
def test_container_toolkit_is_registered(minimums: gpus.Minimums, toolkit: ToolkitFacts, evidence: Notes) -> None:
    """The daemon knows the NVIDIA runtime or CDI devices, and the toolkit meets the minimum."""
    minimum = minimums.toolkit
    evidence(
        found=f"{toolkit.registered or 'not registered'}, version {toolkit.version or 'unknown'}",
        expected=minimum.bound,
        minimum=minimum.origin,
    )
    evidence(runtimes=", ".join(toolkit.runtimes))
    assert toolkit.registered, f"the daemon knows no NVIDIA runtime, only {', '.join(toolkit.runtimes) or 'none'}"
    if toolkit.version_fault is not None:
        raise toolkit.version_fault
    if not meets(minimum.bound, toolkit.version):
        evidence.remedy(
            f"Install the NVIDIA Container Toolkit {minimum.bound} on the docker host and restart the daemon"
        )
    assert meets(minimum.bound, toolkit.version), (
        f"NVIDIA Container Toolkit {toolkit.version} does not meet {minimum.bound}"
    )


@requirement("GPU-04")
def test_smoke_container_sees_gpus(gpu_container: GpuContainer, evidence: Notes) -> None:
    """A container started with the job's GPU request lists at least one device."""
    evidence(
        found=f"{len(gpu_container.gpus)} GPUs",
        expected="at least 1",
        image=gpu_container.image,
        request=gpu_container.request,
    )
    evidence(devices="\n".join(f"{gpu.index}: {gpu.name} {gpu.uuid}" for gpu in gpu_container.gpus) or None)
    assert gpu_container.gpus, "the container was started with the GPU request but lists no device"


@requirement("GPU-05", remedy="Ask for at most {found} GPUs, or choose a target with {expected}")
def test_enough_gpus_are_visible(job: Job | None, visible_gpus: gpus.VisibleGpus, evidence: Notes) -> None:
    """As many devices as the job asks for are visible, and each ID that it names exists."""
    if not visible_gpus.asked:
        return
    wanted = job.gpus if job is not None else -1
    found = len(visible_gpus.gpus)
    evidence(found=found, expected=wanted if wanted >= 0 else "all, at least 1")
    if visible_gpus.missing:
        evidence.remedy("Name devices that exist in `docker.gpu_ids` or CUDA_VISIBLE_DEVICES: nvidia-smi -L lists them")
    assert not visible_gpus.missing, f"no such device: {', '.join(visible_gpus.missing)}"
    assert found >= max(wanted, 1), f"{found} GPUs are visible, the job asks for {max(wanted, 1)}"


@requirement("GPU-06")
def test_gpus_have_enough_memory(job: Job, node_gpus: GpuAnswer, evidence: Notes) -> None:
    """Each GPU that the job will take has the memory that it requires."""
    wanted = job.requires.gpu_memory or 0
    used = _used(job, node_gpus)
    known = [gpu for gpu in used if gpu.memory_total is not None]
    evidence(
        found=", ".join(f"{gpu.index}: {format_size(gpu.memory_total or 0)}" for gpu in known),
        expected=f"at least {format_size(wanted)} each",
    )
    small = [gpu for gpu in known if (gpu.memory_total or 0) < wanted]
    assert not small, f"GPU {small[0].index} ({small[0].name}) has {format_size(small[0].memory_total or 0)}"
    gpus.demand_memory_known(used)
    low = [
        gpu for gpu in known if job.requires.gpu_memory_warn and (gpu.memory_total or 0) < job.requires.gpu_memory_warn
    ]
    if low:
        warn(
            f"GPU {low[0].index} has {format_size(low[0].memory_total or 0)}: use the low-memory settings of the model"
        )


@requirement("GPU-07")
def test_gpus_are_free(job: Job | None, node_gpus: GpuAnswer | None, evidence: Notes) -> None:
    """No other process computes on the GPUs that the job will take."""
    if node_gpus is None:
        return
    used = _used(job, node_gpus)
    busy = gpus.processes_on(node_gpus, used)  # raises where the driver would not list them
    evidence(found=f"{len(busy)} processes", expected="none", chosen=", ".join(str(gpu.index) for gpu in used))
    if not busy:
        return
    told = ", ".join(f"{process.name} (pid {process.pid})" for process in busy[:5])
    if job is None or not job.requires.exclusive_gpus:
        warn(f"the GPUs are shared with {told}")
    raise AssertionError(f"the GPUs are used by {told}")


@requirement("GPU-08")
def test_gpus_are_healthy(job: Job | None, node_gpus: GpuAnswer | None, evidence: Notes) -> None:
    """No uncorrected errors, pending remaps or throttling."""
    if node_gpus is None:
        return
    problems = [problem for gpu in _used(job, node_gpus) for problem in gpus.health_problems(gpu)]
    evidence(found="; ".join(problems) or "nothing abnormal", expected="nothing abnormal")
    assert not problems, "; ".join(problems)


@requirement("GPU-11")
def test_torch_sees_the_gpus(job: Job, node_torch: TorchAnswer, evidence: Notes) -> None:
    """torch.cuda in the job's interpreter sees the GPUs and has kernels for them."""
    wanted = max(job.gpus, 1)
    evidence(found=node_torch.trouble or _torch_words(node_torch), expected=f"at least {wanted} GPUs")
    evidence(interpreter=node_torch.interpreter or None, compiled=" ".join(node_torch.architectures) or None)
    assert not node_torch.trouble, node_torch.trouble
    assert node_torch.available, "torch.cuda is not available in the job's interpreter"
    assert node_torch.device_count >= wanted, f"torch sees {node_torch.device_count} GPUs, the job asks for {wanted}"
    bare = [one for one in node_torch.capabilities if not gpus.covered(one, node_torch.architectures)]
    assert not bare, f"torch has no kernels for compute capability {', '.join(dict.fromkeys(bare))}"


def _torch_words(torch: TorchAnswer) -> str:
    return f"{torch.device_count} GPUs, torch {torch.torch_version}, CUDA {torch.cuda_version or 'none'}"
