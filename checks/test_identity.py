"""ID: as whom the job runs, and who owns what it writes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gonogo.fixtures.outcomes import Notes
from gonogo.fixtures.probes.path_facts import PathFacts
from gonogo.fixtures.requirement import block, requirement
from gonogo.jobs.model import Job
from gonogo.jobs.uris import output_paths, writable_inputs
from gonogo.platforms.docker.environment import FOLDERS, user_name
from gonogo.platforms.docker.identity import JobUser, wants_root
from gonogo.platforms.docker.ownership import Owing, give_command, isolation_faults
from gonogo.reports.plain import one_line

if TYPE_CHECKING:
    from gonogo.fixtures.probes.identity import PlannedHome
    from gonogo.platforms.docker.facts import DaemonInfo
    from gonogo.platforms.docker.platform import ContainerAnswers


@requirement("ID-07")
def test_user_is_not_root_by_accident(job: Job, job_identity: JobUser, evidence: Notes) -> None:
    """The job runs as root only where its file says so."""
    evidence(found=job_identity.shown, expected="not root, unless `run_as: root`", run_as=job.run_as)
    assert job_identity.uid != 0 or wants_root(job), "the job would run as root"


@requirement("ID-01")
def test_user_is_settled_on_the_docker_host(
    job_identity: JobUser, docker_account: JobUser | None, evidence: Notes
) -> None:
    """User and group are numbers of the docker host."""
    groups = ", ".join(str(group) for group in job_identity.groups) or "none"
    evidence(found=job_identity.shown, expected="UID:GID of the docker host", source=job_identity.origin, groups=groups)
    evidence(account=docker_account.shown if docker_account is not None else "none")
    assert job_identity.origin, "nobody says where the numbers come from"


@requirement("ID-02")
def test_folder_can_be_written_and_cleaned(param: str, path_facts: PathFacts, job: Job, evidence: Notes) -> None:
    """The job's user creates and deletes a file in it, from inside a container with the same bind."""
    answer = path_facts.write(param)
    evidence(found=answer.found, expected="writable", identity=answer.identity, asked=answer.asked)
    if not answer.tried:
        block(f"{'PATH-01' if param in writable_inputs(job) else 'PATH-02'}[{param}]", answer.message)
    if not answer.holds and param in output_paths(job) and path_facts.is_full(param):
        block(f"PATH-05[{param}]", answer.message)
    evidence.remedy(answer.remedy)
    assert answer.holds, answer.message


@requirement("ID-03")
def test_home_and_caches_work(
    job: Job,
    job_identity: JobUser,
    planned_home: PlannedHome,
    path_facts: PathFacts,
    container_answers: ContainerAnswers,
    evidence: Notes,
) -> None:
    """User name, home and cache folders work inside a container, with the variables that the job will get."""
    own = ", ".join(sorted({*FOLDERS, "USER", "LOGNAME"} & set(job.env)))
    evidence(set_by_the_job=own or None)
    evidence(home=planned_home.shown, user=f"{user_name(job_identity)}, {job_identity.text}")
    if planned_home.folder is not None:
        written = path_facts.write(planned_home.folder)
        if not written.holds:
            block(f"{'ID-02' if written.tried else 'PATH-02'}[{planned_home.folder}]", written.message)
    answer = container_answers.answers.home()
    asked = f"getpass.getuser() says {answer.user}" if answer.user else "no python to ask getpass.getuser()"
    evidence(found=f"home and caches written, {asked}" if not answer.message else answer.message)
    evidence(expected="a writable home and a user name", image=container_answers.image)
    assert answer.works, answer.message or "the home cannot be used"


@requirement("ID-04")
def test_root_is_isolated_and_gives_back(
    job: Job,
    job_identity: JobUser,
    docker_account: JobUser | None,
    daemon: DaemonInfo,
    path_facts: PathFacts,
    container_answers: ContainerAnswers,
    evidence: Notes,
) -> None:
    """A job as root writes only folders of its own; what it writes is given to the submitter after every end."""
    evidence(found=f"the job runs as {job_identity.shown}, by {job_identity.origin}")
    evidence(expected="folders of its own, given back to the submitter")
    if job_identity.uid != 0:
        return  # the environment has named somebody else
    assert docker_account is not None, "root's files could be given back to nobody: gonogo has no account on that host"
    evidence(
        owner=docker_account.shown if docker_account.uid else "root itself is the submitter: nothing is given back"
    )
    faults = isolation_faults(job)
    assert not faults, "; ".join(one_line(fault) for fault in faults)
    remapped = daemon.rootless or daemon.remaps_users
    assert not remapped, "the daemon maps container users to others, so that root there is not root on the host"
    for folder in path_facts.folders_there(job) if docker_account.uid else ():
        answer = container_answers.answers.chown(f"chown:{folder}")
        evidence.remedy(f"Set `run_as: submitter`, or let root on the docker host change owners in {one_line(folder)}")
        assert answer.holds, one_line(answer.message)


@requirement("ID-05")
def test_nothing_belongs_to_root(
    param: str,
    path_facts: PathFacts,
    job: Job,
    job_identity: JobUser,
    docker_account: JobUser | None,
    container_answers: ContainerAnswers,
    evidence: Notes,
) -> None:
    """No child of a folder that the job writes belongs to root."""
    if param not in path_facts.folders_there(job):
        judgement = path_facts.write(param)
        block(f"{'PATH-01' if param in writable_inputs(job) else 'PATH-02'}[{param}]", judgement.message)
    owned = container_answers.answers.owned(f"owned:{param}")
    named = ", ".join(one_line(path) for path in owned.paths[:5])
    count = f"{'more than ' if owned.cut else ''}{len(owned.paths)}"
    evidence(found=f"{count} of root's: {named}" if owned.paths else "none", expected="none of root's")
    owner = job_identity if job_identity.uid != 0 else docker_account
    if owner is not None and owner.uid != 0:
        evidence.remedy(give_command(param, owner.text))
    alone = job_identity.uid == 0 and (docker_account is None or docker_account.uid == 0)
    assert alone or not owned.paths, f"{count} entries in {one_line(param)} belong to root: {named}"


@requirement("ID-06")
def test_retention_deletes_as_the_owner(
    job: Job, job_identity: JobUser, docker_account: JobUser | None, platform_name: str, evidence: Notes
) -> None:
    """AutoML checkpoint retention runs as the owner of the files, on the host where they are."""
    evidence(found=f"{job_identity.shown} on {platform_name}", expected="the submitter, on a daemon of this machine")
    remedy = "Set `automl: {retention: false}`"
    evidence.remedy(f"{remedy}, or `run_as: submitter`")
    assert job_identity.uid != 0, "checkpoint retention is refused for a job as root"
    evidence.remedy(f"{remedy}, or launch on local-docker")
    assert platform_name == "local-docker", (
        f"checkpoint retention is refused on {platform_name}: the files lie elsewhere"
    )
    evidence.remedy(f"{remedy}, or `run_as: submitter`")
    same = docker_account is not None and docker_account.uid == job_identity.uid
    account = docker_account.shown if docker_account is not None else "unknown"
    assert same, f"checkpoint retention is refused for {job_identity.shown}: the submitter is {account}"


@requirement("ID-08", remedy="gonogo status {launch}")
def test_no_earlier_launch_owes_ownership(owing: list[Owing], evidence: Notes) -> None:
    """No earlier launch on this target still owes the ownership of what it wrote as root."""
    late = [one.launch_id for one in owing if one.ended]
    running = [one.launch_id for one in owing if not one.ended]
    evidence(found=", ".join(late) or "none", expected="none", launch=late[0] if late else None)
    evidence(running=", ".join(running) or None)
    assert not late, f"launch {late[0]} has ended and still owes the ownership of its files"
