"""Which of a host's GPUs a job will take: by its request, by CUDA_VISIBLE_DEVICES, inside a container; free ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from gonogo.jobs.model import Job
from gonogo.jobs.sizes import format_size
from gonogo.platforms.faults import Fault, Garbled, NotFound
from gonogo.platforms.gpus import JobGpus, VisibleGpus
from gonogo.platforms.probe.answers import Gpu, GpuAnswer

if TYPE_CHECKING:
    from gonogo.platforms.docker.gpu import GpuContainer


def named_ids(job: Job | None) -> list[str]:
    """The devices of `docker.gpu_ids`, by index or UUID; empty where the job names none."""
    return [str(one) for one in job.docker.gpu_ids] if job is not None and job.docker is not None else []


def selection(job: Job | None, environment: Mapping[str, str]) -> list[str] | None:
    """The devices that a process on this node is given, by index or UUID; None where all are."""
    named = named_ids(job)
    return named or cuda_visible(job, environment)


def cuda_visible(job: Job | None, environment: Mapping[str, str]) -> list[str] | None:
    """CUDA_VISIBLE_DEVICES of the job, else of that environment: None where it is not set, nothing where it is
    empty."""
    told = (job.env if job is not None else {}).get("CUDA_VISIBLE_DEVICES", environment.get("CUDA_VISIBLE_DEVICES"))
    return None if told is None else [one.strip() for one in told.split(",") if one.strip()]


def visible(gpus: Sequence[Gpu], chosen: Sequence[str] | None) -> tuple[list[Gpu], list[str]]:
    """The chosen devices in their order, and those names that no device has. As CUDA does, -1 ends the list."""
    if chosen is None:
        return list(gpus), []
    found: list[Gpu] = []
    missing: list[str] = []
    for name in chosen:
        if name == "-1":
            break
        match = [gpu for gpu in gpus if _is_named(gpu, name)]
        if match:
            found.extend(gpu for gpu in match if gpu not in found)
        else:
            missing.append(name)
    return found, missing


def _is_named(gpu: Gpu, name: str) -> bool:
    """By index, by the beginning of its UUID, or by a MIG instance on it."""
    if name.startswith("MIG-"):
        return any(uuid.startswith(name) for uuid in gpu.mig_devices)
    return name == str(gpu.index) or (name.startswith("GPU-") and gpu.uuid.startswith(name))


def used_by_job(gpus: Sequence[Gpu], wanted: int) -> list[Gpu]:
    """Those of the visible devices that a job of that many GPUs takes: the first ones; all for -1."""
    return list(gpus) if wanted < 0 else list(gpus[:wanted])


def requested(job: Job | None, answer: GpuAnswer | None) -> VisibleGpus:
    """The host's devices that the job's request to a daemon names; `asked` is false where the host was not asked."""
    if answer is None:
        return VisibleGpus((), (), asked=False)
    ids = named_ids(job)
    if ids:
        found, missing = visible(answer.gpus, ids)
        return VisibleGpus(tuple(found), tuple(missing), asked=True)
    return VisibleGpus(tuple(used_by_job(answer.gpus, job.gpus if job is not None else -1)), (), asked=True)


def too_few(job: Job | None, found: VisibleGpus) -> Fault | None:
    """Why those devices are not what the job asks for, None where they are or nobody could be asked."""
    wanted = max(job.gpus, 1) if job is not None else 1
    if not found.asked:
        return None
    if found.missing:
        return NotFound(f"no such device: {', '.join(found.missing)}")
    if len(found.gpus) < wanted:
        return NotFound(f"{len(found.gpus)} GPUs are visible, the job asks for {wanted}")
    return None


def seen_inside(job: Job | None, inside: Sequence[Gpu], host: VisibleGpus) -> VisibleGpus:
    """What the job's process will see in its container, which numbers its devices anew.

    `host` holds the devices that the request names there: one that did not come through, by its UUID, is missing.
    """
    seen, missing = visible(inside, cuda_visible(job, {}))
    got = {gpu.uuid for gpu in inside}
    lost = [f"{gpu.index} of the host ({gpu.uuid})" for gpu in host.gpus if gpu.uuid not in got]
    return VisibleGpus(tuple(seen), (*missing, *lost), asked=True, numbers=_numbers(inside, host.gpus))


def taken_in_container(job: Job | None, container: GpuContainer, host: GpuAnswer | None, address: str) -> JobGpus:
    """The devices that the job takes, as the host lists them where it was asked: there processes and kernel log are
    seen."""
    seen, _ = visible(container.gpus, cuda_visible(job, {}))
    inside = used_by_job(seen, job.gpus if job is not None else -1)
    known = {gpu.uuid: gpu for gpu in host.gpus} if host is not None else {}
    if host is None or any(gpu.uuid not in known for gpu in inside):
        answer = container.answer or GpuAnswer("", "", 0, container.driver, container.cuda, container.gpus)
        return JobGpus(answer, tuple(inside), f"a container of {container.image}")
    chosen = tuple(known[gpu.uuid] for gpu in inside)
    return JobGpus(host, chosen, f"nvidia-smi on {address}", _numbers(inside, host.gpus))


def _numbers(inside: Sequence[Gpu], host: Sequence[Gpu]) -> tuple[tuple[int, int], ...]:
    of_host = {gpu.uuid: gpu.index for gpu in host}
    return tuple((of_host[gpu.uuid], gpu.index) for gpu in inside if gpu.uuid in of_host)


def demand_processes_known(answer: GpuAnswer) -> None:
    """Raises Garbled where nvidia-smi does not list processes: that none are listed is then no proof."""
    if answer.processes is None:
        raise Garbled(
            f"whether the GPUs are free is not known: {answer.processes_error}",
            remedy="Ask on the host itself, as a user who may see the processes, or attest the row",
        )


#: Bytes in use on an idle device, by the driver and the display: more is somebody's, also where no process is listed.
IDLE_MEMORY = 1024**3


def occupied(answer: GpuAnswer, gpu: Gpu) -> str:
    """Who or what uses the device, empty where nothing is known to."""
    holders = [one for one in answer.processes or () if one.gpu_uuid == gpu.uuid]
    if holders:
        return ", ".join(f"{one.name} (pid {one.pid})" for one in holders[:5])
    if (gpu.memory_used or 0) > IDLE_MEMORY:
        return f"a process that is not listed ({format_size(gpu.memory_used or 0)} in use)"
    return ""


def choose_free(answer: GpuAnswer, count: int) -> list[Gpu]:
    """The first `count` devices that nobody is known to use, with a usable MIG mode; fewer where there are not so
    many."""
    free = [gpu for gpu in answer.gpus if not occupied(answer, gpu) and gpu.mig_mode.lower() != "enabled"]
    return free[: max(count, 0)]
