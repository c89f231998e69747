"""GPU: driver, CUDA, toolkit, and the devices that the job will see."""

from __future__ import annotations

from gonogo.fixtures.outcomes import Notes
from gonogo.fixtures.requirement import requirement, warn
from gonogo.jobs.model import Job
from gonogo.jobs.policy import Policy
from gonogo.jobs.sizes import format_size
from gonogo.platforms import gpus
from gonogo.platforms.docker.gpu import GpuContainer, ToolkitFacts
from gonogo.platforms.versions import meets


@requirement("GPU-01", remedy="install a driver that meets {expected}, or reboot where an upgrade waits for it")
def test_driver_is_new_enough(job: Job | None, minimums: gpus.Minimums, node_gpus: gpus.GpuFacts, evidence: Notes) -> None:
    """The NVIDIA driver answers and meets the minimum."""
    evidence(found=node_gpus.driver, expected=minimums.driver or "any", minimum_from=minimums.driver_from)
    assert node_gpus.driver, "nvidia-smi names no driver version"
    assert not minimums.driver or meets(minimums.driver, node_gpus.driver), f"driver {node_gpus.driver} does not meet {minimums.driver}"


@requirement("GPU-02", remedy="install a driver whose CUDA level meets {expected}, or use an older CUDA")
def test_cuda_is_new_enough(minimums: gpus.Minimums, node_gpus: gpus.GpuFacts, evidence: Notes) -> None:
    """The CUDA level that the driver reports meets the minimum."""
    evidence(found=node_gpus.cuda, expected=minimums.cuda or "any", minimum_from=minimums.cuda_from)
    assert node_gpus.cuda or not minimums.cuda, "nvidia-smi reports no CUDA version"
    assert not minimums.cuda or meets(minimums.cuda, node_gpus.cuda), f"CUDA {node_gpus.cuda} does not meet {minimums.cuda}"
