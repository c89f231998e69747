"""Which GPUs a launch takes on a shared machine: free ones by their IDs, chosen before the suite proves them."""

from __future__ import annotations

import os
from collections.abc import Mapping

from gonogo.jobs.model import Docker, Job
from gonogo.launcher.opening import Opened
from gonogo.platforms.contract import Platform
from gonogo.platforms.faults import Fault
from gonogo.platforms.gpu_choice import choose_free, occupied, selection, used_by_job
from gonogo.platforms.probe.questions import GpuQuestion

#: Platforms that are one machine, whose devices a job can be given by ID.
ONE_MACHINE = frozenset({"interactive", "local-docker", "remote-docker"})
_SECONDS = 10


def free_devices(job: Job, platform: Platform, environment: Mapping[str, str] = os.environ) -> list[str]:
    """Indices of free devices for the job, where it asks for a count and some of those that it would get are in use.

    Empty where nothing needs choosing, or nothing can be chosen: then the suite says what is wrong.
    """
    if job.gpus <= 0 or (job.splits or 1) > 1 or platform.name not in ONE_MACHINE:
        return []
    if selection(job, environment if platform.name == "interactive" else {}) is not None:
        return []
    try:
        answer = platform.ask([GpuQuestion(seconds=_SECONDS)], deadline=_SECONDS + 5.0).gpu()
    except Fault:
        return []
    if not any(occupied(answer, gpu) for gpu in used_by_job(answer.gpus, job.gpus)):
        return []
    free = choose_free(answer, job.gpus)
    return [str(gpu.index) for gpu in free] if len(free) == job.gpus else []


def with_devices(opened: Opened, devices: list[str]) -> Opened:
    """The same launch with those devices by ID."""
    docker = (opened.job.docker or Docker()).model_copy(update={"gpu_ids": devices})
    return opened.with_job(opened.job.model_copy(update={"docker": docker}))
