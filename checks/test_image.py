"""IMG: the job's image."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gonogo.fixtures.outcomes import Notes
from gonogo.fixtures.requirement import block, defer, requirement
from gonogo.jobs.model import Job
from gonogo.platforms import gpus
from gonogo.platforms.architectures import ImageCode
from gonogo.platforms.faults import Fault
from gonogo.platforms.image_judgement import judge_image
from gonogo.platforms.probe.answers import TorchAnswer

if TYPE_CHECKING:
    from gonogo.platforms.docker.facts import ImageFact


@requirement("IMG-05")
def test_image_has_code_for_the_gpus(
    job: Job,
    job_image: ImageFact | None,
    image_codes: ImageCode,
    job_gpus: gpus.JobGpus,
    image_torch: TorchAnswer | Fault | None,
    evidence: Notes,
) -> None:
    """Each device's compute capability is in the image's list, or PTX for it, or a kernel of the image ran on it."""
    evidence(expected=", ".join(f"{gpu.index}: {gpu.compute_cap or 'unknown'}" for gpu in job_gpus.chosen))
    if not job_gpus.chosen:
        block("GPU-05", "no GPU is visible to the job")
    if job_image is None and not image_codes.architectures:
        defer(f"image {job.image} is not on the target yet; it is asked when it has been pulled")
    judged = judge_image(job_gpus, image_codes, image_torch)
    evidence(found=judged.found, told_by=judged.origin, cuda_of_the_image=image_codes.cuda or None)
    if judged.remedy:
        evidence.remedy(judged.remedy)
    if judged.fault is not None:
        raise judged.fault
    assert judged.holds, judged.message
