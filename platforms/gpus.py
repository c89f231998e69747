"""What a job needs of its GPUs, and what is known of the devices that it will take."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gonogo.jobs.model import Job
from gonogo.platforms.faults import Fault, Garbled, NotFound, Refused, TimedOut, ToolMissing, Unreachable
from gonogo.platforms.probe.answers import Gpu, GpuAnswer

#: What docker and brev ask for where neither job nor policy does.
DEFAULT_DRIVER, DEFAULT_CUDA, DEFAULT_TOOLKIT = ">=580", ">=13.0", ">=1.19.0"
_WITH_DEFAULTS = frozenset({"local-docker", "remote-docker", "brev"})


@dataclass(frozen=True)
class Minimum:
    """A version bound and where it comes from; an empty bound asks for nothing."""

    bound: str
    origin: str


@dataclass(frozen=True)
class VisibleGpus:
    """The devices that a job will see, the names it gave that no device has, and whether there was anything to ask.

    `numbers` pairs a device's index on the host with the one inside the container, where the host was asked.
    """

    gpus: tuple[Gpu, ...]
    missing: tuple[str, ...]
    asked: bool
    numbers: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True)
class DriverFacts:
    """Versions as text, '' where unknown, and who told them."""

    driver: str
    cuda: str
    source: str


@dataclass(frozen=True)
class JobGpus:
    """The devices that the job will take, and all that is known of them.

    `answer` is nvidia-smi's on the host or, where that is not to be had, inside the job's container; `source` says
    which. `numbers` pairs a device's index on the host with the one inside the container; empty where they are alike.
    """

    answer: GpuAnswer
    chosen: tuple[Gpu, ...]
    source: str
    numbers: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True)
class Minimums:
    driver: Minimum
    cuda: Minimum
    toolkit: Minimum


def minimums(job: Job | None, policy: Mapping[str, str], platform: str) -> Minimums:
    """The bounds for this run: the job's, else the site policy's, else the platform's default."""
    asked = job.requires if job is not None else None
    defaults = platform in _WITH_DEFAULTS

    def pick(in_job: str | None, name: str, default: str) -> Minimum:
        if in_job:
            return Minimum(in_job, "job file")
        if policy.get(name):
            return Minimum(policy[name], "policy file")
        return Minimum(default if defaults else "", "default")

    return Minimums(
        driver=pick(asked.driver if asked else None, "driver", DEFAULT_DRIVER),
        cuda=pick(asked.cuda if asked else None, "cuda", DEFAULT_CUDA),
        toolkit=pick(asked.container_toolkit if asked else None, "container_toolkit", DEFAULT_TOOLKIT),
    )


def trouble(answer: GpuAnswer, host: str) -> Fault | None:
    """nvidia-smi's trouble as a fault, None where it answered."""
    detail = answer.error
    if answer.trouble == "absent":
        return ToolMissing(
            f"nvidia-smi is not on the PATH of {host}",
            remedy="Install the NVIDIA driver there, or ask for no GPU with `gpus: 0`",
        )
    if answer.trouble == "mismatch":
        return Refused(
            f"the NVIDIA driver and its library on {host} have different versions",
            detail=detail,
            remedy="Reboot the host: a driver upgrade is waiting for it",
        )
    if answer.trouble == "no-driver":
        return Unreachable(
            f"nvidia-smi on {host} cannot talk to the driver",
            detail=detail,
            remedy="Load the driver (sudo modprobe nvidia) or install it for the running kernel",
        )
    if answer.trouble == "no-devices":
        return NotFound(
            f"nvidia-smi finds no devices on {host}",
            detail=detail,
            remedy="Choose a host with GPUs, or ask for none with `gpus: 0`",
        )
    if answer.trouble == "silent":
        return TimedOut(
            f"nvidia-smi on {host} did not answer in time",
            detail=detail,
            remedy="See `dmesg | grep -i xid`: a GPU that fell off the bus makes it hang; reboot the host",
        )
    if answer.trouble:
        return Garbled(f"nvidia-smi on {host} failed with exit code {answer.exit_code}", detail=detail)
    return None


def demand_memory_known(gpus: Sequence[Gpu]) -> None:
    """Raises Garbled where a device does not tell its memory: unknown is never enough."""
    unknown = [gpu for gpu in gpus if gpu.memory_total is None]
    if unknown:
        raise Garbled(
            f"GPU {unknown[0].index} ({unknown[0].name}) does not tell its memory",
            remedy="Attest the row with the memory that the device is known to have, or choose another device",
        )
