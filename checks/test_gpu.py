"""GPU: driver, CUDA, toolkit, and the devices that the job will see."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gonogo.fixtures.catalogue.model import INTERACTIVE
from gonogo.fixtures.outcomes import Notes
from gonogo.fixtures.requirement import block, requirement, warn
from gonogo.jobs.model import Job
from gonogo.jobs.sizes import format_size
from gonogo.platforms import gpu_choice, gpus
from gonogo.platforms.architectures import covered, driver_for
from gonogo.platforms.faults import Fault, Garbled, ToolMissing
from gonogo.platforms.gpu_health import health_problems, mig_problem, xid_problems
from gonogo.platforms.probe.answers import Gpu, NodeAnswer, TorchAnswer
from gonogo.platforms.topology import LEAST_BANDWIDTH, slow_pairs
from gonogo.platforms.versions import meets, numbers

if TYPE_CHECKING:
    from gonogo.platforms.docker.facts import DaemonInfo
    from gonogo.platforms.docker.gpu import GpuContainer, GpuRequest, ToolkitFacts


@requirement("GPU-01", remedy="Install a driver that meets {expected}")
def test_driver_is_new_enough(minimums: gpus.Minimums, driver_facts: gpus.DriverFacts | None, evidence: Notes) -> None:
    """The NVIDIA driver answers and meets the minimum."""
    if driver_facts is None:
        return evidence(found="no NVIDIA driver here, and no job that asks for a GPU")
    minimum, driver = minimums.driver, driver_facts.driver
    evidence(found=driver, expected=minimum.bound or "any version", minimum=minimum.origin, told_by=driver_facts.source)
    if not driver:
        raise Garbled("nvidia-smi names no driver version")
    assert not minimum.bound or meets(minimum.bound, driver), f"driver {driver} does not meet {minimum.bound}"
    return None


@requirement("GPU-02")
def test_cuda_level_is_high_enough(
    minimums: gpus.Minimums, driver_facts: gpus.DriverFacts | None, evidence: Notes
) -> None:
    """The CUDA level that the driver reports meets the minimum."""
    if driver_facts is None:
        return
    minimum, cuda = minimums.cuda, driver_facts.cuda
    evidence(found=cuda, expected=minimum.bound or "any version", minimum=minimum.origin, told_by=driver_facts.source)
    if not minimum.bound:
        return
    if not cuda:
        raise Garbled("nvidia-smi reports no CUDA version")
    evidence.remedy(_newer_driver(minimum.bound))
    assert meets(minimum.bound, cuda), f"CUDA {cuda} does not meet {minimum.bound}"


def _newer_driver(bound: str) -> str:
    driver = driver_for(".".join(map(str, numbers(bound.lstrip("<>=! ")))))
    named = f" ({driver} came with it)" if driver else ""
    return f"Install a driver whose CUDA level meets {bound}{named}, or use an image built for an older CUDA"


@requirement("GPU-03")
def test_container_toolkit_is_registered(minimums: gpus.Minimums, toolkit: ToolkitFacts, evidence: Notes) -> None:
    """The daemon knows the NVIDIA runtime or CDI devices, and the toolkit meets the minimum."""
    minimum = minimums.toolkit
    evidence(
        found=f"{toolkit.registered or 'not registered'}, version {toolkit.version or 'unknown'}",
        expected=minimum.bound,
        minimum=minimum.origin,
        runtimes=", ".join(toolkit.runtimes),
        how_to_ask=toolkit.note or None,
    )
    assert toolkit.registered, f"the daemon knows no NVIDIA runtime, only {', '.join(toolkit.runtimes) or 'none'}"
    if toolkit.version_fault is not None:
        raise toolkit.version_fault
    evidence.remedy(f"Install the NVIDIA Container Toolkit {minimum.bound} on the docker host and restart the daemon")
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
    evidence(found=found, expected=wanted if wanted >= 0 else "all, at least 1", numbers=_numbers(visible_gpus.numbers))
    if not found:
        evidence.remedy("Correct CUDA_VISIBLE_DEVICES, or choose a target with GPUs")
    if visible_gpus.missing:
        evidence.remedy("Name devices that exist in `docker.gpu_ids` or CUDA_VISIBLE_DEVICES: nvidia-smi -L lists them")
    assert not visible_gpus.missing, f"no such device: {', '.join(visible_gpus.missing)}"
    assert found >= max(wanted, 1), f"{found} GPUs are visible, the job asks for {max(wanted, 1)}"
    if job is not None and job.requires.compute_capability:
        _demand_capability(gpu_choice.used_by_job(visible_gpus.gpus, wanted), job.requires.compute_capability, evidence)


def _demand_capability(used: list[Gpu], wanted: list[str], evidence: Notes) -> None:
    """Each device is of a kind that the job names: `requires.compute_capability`."""
    evidence(capabilities=", ".join(f"{gpu.index}: {gpu.compute_cap or 'unknown'}" for gpu in used))
    evidence.remedy(f"Choose devices of compute capability {', '.join(wanted)} in `docker.gpu_ids`, or another target")
    others = [gpu for gpu in used if gpu.compute_cap and gpu.compute_cap not in wanted]
    assert not others, (
        f"GPU {others[0].index} ({others[0].name}) has compute capability {others[0].compute_cap}, "
        f"the job asks for {', '.join(wanted)}"
    )
    silent = [gpu for gpu in used if not gpu.compute_cap]
    if silent:
        raise Garbled(f"GPU {silent[0].index} ({silent[0].name}) does not tell its compute capability")


def _numbers(pairs: tuple[tuple[int, int], ...]) -> str | None:
    """How the container numbers the host's devices, where it does so anew."""
    changed = any(host != inside for host, inside in pairs)
    return ", ".join(f"{host} of the host is {inside} inside" for host, inside in pairs) if changed else None


def _demand_some(job_gpus: gpus.JobGpus) -> None:
    """A row about each device says nothing where there is none: GPU-05 says so."""
    if not job_gpus.chosen:
        block("GPU-05", "no GPU is visible to the job")


@requirement("GPU-06")
def test_gpus_have_enough_memory(job: Job, job_gpus: gpus.JobGpus, evidence: Notes) -> None:
    """Each GPU that the job will take has the memory that it requires."""
    _demand_some(job_gpus)
    wanted, low_below = job.requires.gpu_memory or 0, job.requires.gpu_memory_warn or 0
    known = [(gpu, gpu.memory_total) for gpu in job_gpus.chosen if gpu.memory_total is not None]
    evidence(
        found=", ".join(f"{gpu.index}: {format_size(size)}" for gpu, size in known) or "unknown",
        expected=f"at least {format_size(wanted)} each",
        told_by=job_gpus.source,
    )
    small = [(gpu, size) for gpu, size in known if size < wanted]
    assert not small, f"GPU {small[0][0].index} ({small[0][0].name}) has {format_size(small[0][1])}"
    gpus.demand_memory_known(job_gpus.chosen)
    low = [(gpu, size) for gpu, size in known if size < low_below]
    if low:
        warn(f"GPU {low[0][0].index} has {format_size(low[0][1])}: use the low-memory settings of the model")


@requirement("GPU-07")
def test_gpus_are_free(job: Job | None, job_gpus: gpus.JobGpus | None, platform_name: str, evidence: Notes) -> None:
    """Nobody else computes on the GPUs that the job will take."""
    if job_gpus is None:
        return
    _demand_some(job_gpus)
    exclusive = job is not None and job.requires.exclusive_gpus
    answer, chosen = job_gpus.answer, job_gpus.chosen
    held = {gpu.index: words for gpu in chosen if (words := gpu_choice.occupied(answer, gpu))}
    evidence(
        found="; ".join(f"GPU {index}: {words}" for index, words in held.items()) or "nobody",
        expected="nobody" if exclusive else "nobody (advised)",
        chosen=", ".join(str(gpu.index) for gpu in chosen),
        told_by=job_gpus.source,
    )
    free = [str(gpu.index) for gpu in gpu_choice.choose_free(answer, len(chosen))]
    if held and len(free) == len(chosen):
        evidence.remedy(_take(free, platform_name))
    told = "; ".join(f"GPU {index} is used by {words}" for index, words in held.items())
    if not exclusive and (held or answer.processes is None):
        warn(told or f"whether the GPUs are free is not known: {answer.processes_error}")
    assert not held, told
    gpu_choice.demand_processes_known(answer)


def _take(free: list[str], platform_name: str) -> str:
    """How a job takes those devices instead."""
    if platform_name == INTERACTIVE:
        return f"export CUDA_VISIBLE_DEVICES={','.join(free)}"
    return f"Set `docker: {{gpu_ids: [{', '.join(free)}]}}`: these are free"


@requirement("GPU-08")
def test_gpus_are_healthy(job: Job | None, job_gpus: gpus.JobGpus | None, evidence: Notes) -> None:
    """No uncorrected errors, pending remaps, Xid errors or throttling; MIG as the job expects."""
    if job_gpus is None:
        return
    _demand_some(job_gpus)
    asked = gpu_choice.named_ids(job)
    problems = [problem for gpu in job_gpus.chosen for problem in [*health_problems(gpu), mig_problem(gpu, asked)]]
    problems = [*filter(None, problems), *xid_problems(job_gpus.answer, job_gpus.chosen)]
    log = (
        "the kernel log was read"
        if job_gpus.answer.xids is not None
        else "the kernel log may not be read: no Xid known"
    )
    evidence(found="; ".join(problems) or "nothing abnormal", expected="nothing abnormal", told_by=job_gpus.source)
    evidence(xid=log)
    assert not problems, "; ".join(problems)


@requirement("GPU-09")
def test_gpus_are_asked_for_as_the_host_needs(
    daemon: DaemonInfo, node: NodeAnswer, gpu_ask: GpuRequest, evidence: Notes
) -> None:
    """A Tegra host is asked by its nvidia runtime, any other by device requests."""
    kind = "Tegra" if daemon.tegra else f"not Tegra ({daemon.arch})"
    evidence(found=gpu_ask.words, expected="the nvidia runtime on Tegra, else device requests")
    evidence(host=f"{kind}, kernel {daemon.kernel}", runtimes=", ".join(daemon.runtimes))
    assert not gpu_ask.runtime or gpu_ask.runtime in daemon.runtimes, (
        f"a Tegra host needs the runtime {gpu_ask.runtime}, which the daemon does not know"
    )
    assert daemon.tegra or not node.tegra, (
        f"{node.hostname} is a Tegra host, but its kernel {daemon.kernel} does not say so: it would get device requests"
    )


@requirement("GPU-10")
def test_gpus_are_connected_well(
    job_gpus: gpus.JobGpus | None, all_reduce: TorchAnswer | Fault, evidence: Notes
) -> None:
    """No two GPUs reach each other across processors only, and a sum over all of them is right and fast enough."""
    if job_gpus is None:
        return
    _demand_some(job_gpus)
    matrix = job_gpus.answer.topology
    pairs = slow_pairs(matrix, [gpu.index for gpu in job_gpus.chosen])
    speed = all_reduce.bandwidth if isinstance(all_reduce, TorchAnswer) else None
    evidence(
        found=f"{len(pairs)} slow pairs, all-reduce {f'{speed} GB/s' if speed is not None else 'unknown'}",
        expected=f"no pair across processors, all-reduce at least {LEAST_BANDWIDTH:g} GB/s",
        topology=matrix or None,
    )
    assert not pairs, f"{pairs[0]} (of {len(pairs)} such pairs) reach each other across processors only"
    if isinstance(all_reduce, Fault):
        raise all_reduce
    if all_reduce.trouble:
        raise ToolMissing(f"no sum over the GPUs was tried: {all_reduce.trouble}")
    assert not all_reduce.reduce_trouble, f"a sum over the GPUs failed: {all_reduce.reduce_trouble}"
    if speed is None or not matrix:
        raise Garbled("nvidia-smi topo -m gave no matrix" if not matrix else "the sum over the GPUs was not timed")
    assert speed >= LEAST_BANDWIDTH, f"a sum over the GPUs ran at {speed} GB/s"


@requirement("GPU-11")
def test_torch_sees_the_gpus(job: Job, node_torch: TorchAnswer, evidence: Notes) -> None:
    """torch.cuda in the job's interpreter sees the GPUs and has kernels for them."""
    wanted = max(job.gpus, 1)
    evidence(found=node_torch.trouble or _torch_words(node_torch), expected=f"at least {wanted} GPUs")
    evidence(interpreter=node_torch.interpreter or None, compiled=" ".join(node_torch.architectures) or None)
    assert not node_torch.trouble, node_torch.trouble
    assert node_torch.available, "torch.cuda is not available in the job's interpreter"
    assert node_torch.device_count >= wanted, f"torch sees {node_torch.device_count} GPUs, the job asks for {wanted}"
    bare = [one for one in node_torch.capabilities if not covered(one, node_torch.architectures)]
    assert not bare, f"torch has no kernels for compute capability {', '.join(dict.fromkeys(bare))}"
    assert not node_torch.kernel_trouble, f"a kernel of torch failed: {node_torch.kernel_trouble}"


def _torch_words(torch: TorchAnswer) -> str:
    return f"{torch.device_count} GPUs, torch {torch.torch_version}, CUDA {torch.cuda_version or 'none'}"
