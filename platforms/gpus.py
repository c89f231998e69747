"""What a job needs of its GPUs, and which of a host's devices it will see."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gonogo.jobs.model import Job
from gonogo.platforms.faults import Fault, Garbled, NotFound, Refused, TimedOut, ToolMissing, Unreachable
from gonogo.platforms.probe.answers import Gpu, GpuAnswer, GpuProcess

#: What docker and brev ask for where neither job nor policy does (requirements.md, 'Stages').
DEFAULT_DRIVER, DEFAULT_CUDA, DEFAULT_TOOLKIT = ">=580", ">=13.0", ">=1.19.0"
_WITH_DEFAULTS = frozenset({"local-docker", "remote-docker", "brev"})


@dataclass(frozen=True)
class Minimum:
    """A version bound and where it comes from; an empty bound asks for nothing."""

    bound: str
    origin: str


@dataclass(frozen=True)
class VisibleGpus:
    """The devices that a job will see, the names it gave that no device has, and whether there was anything to ask."""

    gpus: tuple[Gpu, ...]
    missing: tuple[str, ...]
    asked: bool


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


def selection(job: Job | None, environment: Mapping[str, str]) -> list[str] | None:
    """The devices that the job names (indices or UUIDs), None where it names none and will see all."""
    if job is not None and job.docker is not None and job.docker.gpu_ids:
        return [str(one) for one in job.docker.gpu_ids]
    named = (job.env if job is not None else {}).get("CUDA_VISIBLE_DEVICES", environment.get("CUDA_VISIBLE_DEVICES"))
    if named is None:
        return None
    return [one.strip() for one in named.split(",") if one.strip()]


def visible(gpus: Sequence[Gpu], chosen: Sequence[str] | None) -> tuple[list[Gpu], list[str]]:
    """The chosen devices in their order, and those names that no device has. As CUDA does, -1 ends the list."""
    if chosen is None:
        return list(gpus), []
    found: list[Gpu] = []
    missing: list[str] = []
    for name in chosen:
        if name == "-1":
            break
        match = [
            gpu for gpu in gpus if name == str(gpu.index) or (name.startswith("GPU-") and gpu.uuid.startswith(name))
        ]
        if match:
            found.extend(match)
        else:
            missing.append(name)
    return found, missing


def used_by_job(gpus: Sequence[Gpu], wanted: int) -> list[Gpu]:
    """Those of the visible devices that a job of that many GPUs takes: the first ones; all for -1."""
    return list(gpus) if wanted < 0 else list(gpus[:wanted])


def processes_on(answer: GpuAnswer, gpus: Sequence[Gpu]) -> list[GpuProcess]:
    """The compute processes on those devices. Raises Garbled where nvidia-smi lists none for want of rights."""
    if answer.processes is None:
        raise Garbled("nvidia-smi does not list the processes on the GPUs", detail=answer.processes_error)
    uuids = {gpu.uuid for gpu in gpus}
    return [process for process in answer.processes if process.gpu_uuid in uuids]


def health_problems(gpu: Gpu) -> list[str]:
    """What nvidia-smi reports as not normal for this device."""
    found: list[str] = []
    if gpu.ecc_uncorrected:
        found.append(f"{gpu.ecc_uncorrected} uncorrected ECC errors")
    if gpu.remap_pending:
        found.append("a row remap is pending")
    if gpu.remap_failed:
        found.append("a row remap failed")
    if gpu.throttled:
        found.append(f"slowed down by {', '.join(gpu.throttled)}")
    return [f"GPU {gpu.index}: {one}" for one in found]


def demand_memory_known(gpus: Sequence[Gpu]) -> None:
    """Raises Garbled where a device does not tell its memory: unknown is never enough."""
    unknown = [gpu for gpu in gpus if gpu.memory_total is None]
    if unknown:
        raise Garbled(
            f"GPU {unknown[0].index} ({unknown[0].name}) does not tell its memory",
            remedy="Attest the row with the memory that the device is known to have, or choose another device",
        )


def covered(capability: str, architectures: Sequence[str]) -> bool:
    """Whether code compiled for those architectures runs on a device of that compute capability.

    Binary code (`sm_80`) runs on devices of the same major version and an equal or higher minor one; PTX
    (`compute_80`) is compiled by the driver for any newer device. Suffixed forms (`sm_90a`, `sm_100f`) are exact, or
    hold within their family. Source: CUDA C++ Programming Guide, 'Binary Compatibility' and 'PTX Compatibility'.
    """
    wanted = _capability(capability)
    if wanted is None:
        return False
    return any(_covers(one, wanted) for one in architectures)


def _covers(architecture: str, wanted: tuple[int, int]) -> bool:
    kind, _, number = architecture.partition("_")
    suffix = number[-1:] if number[-1:] in ("a", "f") else ""
    built = _number(number.rstrip("af"))
    if built is None:
        return False
    if suffix == "a":
        return built == wanted
    if kind == "compute" and not suffix:
        return built <= wanted
    return built[0] == wanted[0] and built[1] <= wanted[1]


def _number(text: str) -> tuple[int, int] | None:
    """`90` is (9, 0), `120` is (12, 0)."""
    return (int(text[:-1]), int(text[-1])) if text.isdigit() and len(text) >= 2 else None


def _capability(text: str) -> tuple[int, int] | None:
    major, _, minor = text.partition(".")
    return (int(major), int(minor)) if major.isdigit() and minor.isdigit() else None
