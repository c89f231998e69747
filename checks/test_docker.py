"""DOCK: the daemon, the job's network, and what a container may ask for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gonogo.fixtures.outcomes import Notes
from gonogo.fixtures.requirement import block, requirement, warn
from gonogo.jobs import rules
from gonogo.jobs.model import Job
from gonogo.jobs.sizes import format_size
from gonogo.platforms.docker.daemon_traits import confinement, troubles
from gonogo.platforms.docker.environment import control_plane_names
from gonogo.platforms.docker.jobspec import DEFAULT_SHM, STACK
from gonogo.platforms.settings import Settings

if TYPE_CHECKING:
    from gonogo.platforms.docker.facts import ContainerFact, DaemonInfo, NetworkFact
    from gonogo.platforms.docker.platform import ContainerAnswers


@requirement("DOCK-01")
def test_daemon_answers(daemon: DaemonInfo, evidence: Notes) -> None:
    """The Docker daemon answers at the address of this run."""
    evidence(
        found=daemon.version, api=daemon.api_version, system=f"{daemon.os}/{daemon.arch}", storage=daemon.storage_driver
    )
    evidence(way=daemon.route or None)
    assert daemon.version, "the daemon answered without a version"
    if daemon.in_clear:
        evidence.remedy("Serve the daemon by TLS (DOCKER_TLS_VERIFY=1, DOCKER_CERT_PATH), or use ssh://USER@HOST")
        warn("the daemon is reached over TCP without TLS: whoever reaches its port is root on that host")


@requirement("DOCK-02")
def test_job_network_is_usable(job_network: NetworkFact | None, settings: Settings, evidence: Notes) -> None:
    """The job's network exists with a usable driver, or the launch will create it."""
    name = settings.docker_network.value
    evidence(
        found=job_network.driver if job_network else "will be created", expected="bridge, host or none", network=name
    )
    if job_network is None:
        return
    evidence.remedy(f"docker network rm {name}, or set `docker.network` (DOCKER_NETWORK) to another")
    if job_network.holders > 1:
        evidence.remedy(f"docker network ls --filter name={name}, then `docker network rm ID` for all but one")
    assert job_network.holders == 1, f"{job_network.holders} networks are called {name}: the daemon cannot tell which"
    assert job_network.usable, (
        f"network {name} has the driver {job_network.driver}, which a single container cannot use"
    )


@requirement("DOCK-03")
def test_no_container_has_this_id(job_containers: list[ContainerFact], job: Job, evidence: Notes) -> None:
    """No running container belongs to this launch's ID; a stopped one is named."""
    running = [one for one in job_containers if one.running]
    evidence(found=", ".join(f"{one.name} ({one.status})" for one in job_containers) or "none", expected="none running")
    if running:
        evidence.remedy(f"Wait for it, or `gonogo cancel {job.id}`, or launch under another --id")
    assert not running, f"container {running[0].name} of this ID is {running[0].status}"
    if job_containers:
        warn(f"stopped container {job_containers[0].name} has this ID; only `launch --replace` removes it")


@requirement("DOCK-04")
def test_container_gets_memory_and_limits(
    container_answers: ContainerAnswers, daemon: DaemonInfo, job: Job | None, evidence: Notes
) -> None:
    """/dev/shm, memlock and stack in a probe container are what the launch will ask for."""
    node = container_answers.answers.node()
    shm = (job.requires.shm if job is not None else None) or DEFAULT_SHM
    pinned = job is None or job.gpus != 0  # a job without GPUs asks for no locked memory
    limits = f"memlock {_limit(node.locked_memory)}, stack {_limit(node.stack)}"
    evidence(found=f"/dev/shm {format_size(node.shm_size or 0)}, {limits}", image=container_answers.image)
    evidence(confined="; ".join(confinement(daemon)) or None)
    evidence(expected=f"/dev/shm {format_size(shm)}, {'memlock unlimited, ' if pinned else ''}stack {_limit(STACK)}")
    assert (node.shm_size or 0) >= shm, (
        f"/dev/shm has {format_size(node.shm_size or 0)} in a container, not {format_size(shm)}"
    )
    assert not pinned or node.locked_memory is None, (
        f"memlock is {_limit(node.locked_memory)} in a container, not unlimited"
    )
    assert node.stack is None or node.stack >= STACK, f"the stack limit is {_limit(node.stack)} in a container"


def _limit(size: int | None) -> str:
    return "unlimited" if size is None else format_size(size)


@requirement("DOCK-05")
def test_nothing_is_known_against_the_daemon(daemon: DaemonInfo, evidence: Notes) -> None:
    """API version, storage driver, control groups, live restore and log driver are none of those known to be bad."""
    found = troubles(daemon)
    evidence(found="; ".join(found) or "nothing", expected="nothing known against it", api=daemon.api_version)
    evidence(storage=f"{daemon.storage_driver} in {daemon.root_dir}", cgroup=f"version {daemon.cgroup}")
    evidence(live_restore="yes" if daemon.live_restore else "no: jobs end when the daemon restarts")
    evidence(logs=daemon.logging_driver, confined="; ".join(confinement(daemon)) or "no")
    assert not found, "; ".join(found)


@requirement("DOCK-06")
def test_job_asks_only_for_what_docker_has(job: Job, platform_name: str, evidence: Notes) -> None:
    """The job asks for no queue, no second node and no scheduler."""
    evidence(found=f"nodes: {job.nodes}", expected="one node, no queue")
    problems = rules.multi_node_unsupported(job, platform_name)
    if problems:
        block("JOB-03", problems[0].message)


@requirement("DOCK-07", remedy="Remove {found} from `env` and `credentials` in the job file")
def test_environment_is_the_jobs_own(job: Job, evidence: Notes) -> None:
    """The container's environment holds nothing of the control plane's own."""
    foreign = control_plane_names([*job.env, *job.credentials])
    evidence(found=", ".join(foreign) or "none", expected="none", names=", ".join(sorted({*job.env, *job.credentials})))
    assert not foreign, f"the job would inherit {', '.join(foreign)} of the control plane"
