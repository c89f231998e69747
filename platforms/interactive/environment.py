"""The environment of an interactive job: the submitter's own, but for other launches' parts, and what the job says."""

from __future__ import annotations

from collections.abc import Mapping

from gonogo.jobs.model import Job
from gonogo.jobs.secrets import is_secret_name

#: torchrun's own default port.
DEFAULT_PORT = 29500

#: Variables of a rendezvous that is not this job's: left over, they make a job wait for peers that will never come.
_RENDEZVOUS = frozenset(
    {
        "GROUP_RANK",
        "GROUP_WORLD_SIZE",
        "LOCAL_RANK",
        "LOCAL_WORLD_SIZE",
        "MASTER_ADDR",
        "MASTER_PORT",
        "NNODES",
        "NODE_RANK",
        "RANK",
        "ROLE_NAME",
        "ROLE_RANK",
        "ROLE_WORLD_SIZE",
        "WORLD_SIZE",
    }
)
_FOREIGN_PREFIXES = ("GONOGO_", "PYTEST_", "TORCHELASTIC_")


def inherited(base: Mapping[str, str]) -> dict[str, str]:
    """What the job takes over from the submitter's environment: PATH and its like, no secret that it does not name."""
    return {name: value for name, value in base.items() if not _is_foreign(name)}


def _is_foreign(name: str) -> bool:
    return name in _RENDEZVOUS or name.startswith(_FOREIGN_PREFIXES) or is_secret_name(name)


def job_environment(job: Job, given: Mapping[str, str], base: Mapping[str, str]) -> dict[str, str]:
    """The environment but for secrets: inherited, then what the job's shape needs, then `given`, which beats both."""
    environment = inherited(base)
    environment.update(_rendezvous(job))
    devices = visible_devices(job, base)
    if devices is not None:
        environment["CUDA_VISIBLE_DEVICES"] = devices
    environment.update(given)
    return environment


def master_port(job: Job) -> int:
    return job.ports.master or DEFAULT_PORT


def _rendezvous(job: Job) -> dict[str, str]:
    """Where processes meet. Ranks and the world's size are for whoever starts the processes to set."""
    if job.processes_per_node <= 1 and job.ports.master is None:
        return {}
    return {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(master_port(job))}


def visible_devices(job: Job, base: Mapping[str, str]) -> str | None:
    """CUDA_VISIBLE_DEVICES: the chosen IDs, else the first `gpus` devices; None (as it is) for all of them."""
    if job.gpus == 0:
        return ""
    if job.docker is not None and job.docker.gpu_ids:
        return ",".join(str(one) for one in job.docker.gpu_ids)
    if job.gpus < 0:
        return None
    mine = base.get("CUDA_VISIBLE_DEVICES")
    names = mine.split(",") if mine else [str(index) for index in range(job.gpus)]
    return ",".join(names[: job.gpus])
