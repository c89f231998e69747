"""JOB: the job file itself. JOB-01, JOB-02 and JOB-09 are judged while the file is read: a fault there ends the run
before it begins (usage error, exit 2), so these rows record what was read."""

from __future__ import annotations

from gonogo.fixtures.outcomes import Notes
from gonogo.fixtures.requirement import defer, requirement, warn
from gonogo.jobs import rules
from gonogo.jobs.loading import LoadedJob
from gonogo.jobs.model import Job
from gonogo.platforms.programs import CommandAnswer


def _told(problems: list[rules.Problem], loaded: LoadedJob) -> str:
    """Each problem with the line that it is about, where it comes from a line."""
    lines = [loaded.lines.get(one.key) for one in problems]
    return "; ".join(
        f"line {line}: {one.message}" if line else one.message for one, line in zip(problems, lines, strict=True)
    )


def _remedies(problems: list[rules.Problem]) -> str:
    return "; ".join(dict.fromkeys(one.remedy for one in problems if one.remedy))


@requirement("JOB-01")
def test_job_file_is_valid(loaded_job: LoadedJob, evidence: Notes) -> None:
    """The job file has only known keys, right types and understood units."""
    evidence(found=loaded_job.file or "options of the command line", digest=loaded_job.digest, kind=loaded_job.kind)
    assert loaded_job.job.name, "the job has no name"


@requirement("JOB-02")
def test_every_variable_resolves(loaded_job: LoadedJob, platform_name: str, evidence: Notes) -> None:
    """Every ${VAR} in a value field was expanded; names in shell text that nobody will set are advised about."""
    unused = rules.unused_keys(loaded_job.job, platform_name)
    notes = [*loaded_job.notes, *unused]
    if unused and not loaded_job.notes:
        evidence.remedy(f"Leave the key out, or launch on a platform that uses it: {platform_name} does not")
    if notes:
        evidence(notes="\n".join(notes))
        warn("; ".join(notes))


@requirement("JOB-03")
def test_job_asks_for_one_node(job: Job, loaded_job: LoadedJob, platform_name: str, evidence: Notes) -> None:
    """The job asks for one node: this platform has no more."""
    problems = rules.multi_node_unsupported(job, platform_name)
    evidence(found=f"nodes: {job.nodes}", expected="nodes: 1")
    evidence.remedy(_remedies(problems))
    assert not problems, _told(problems, loaded_job)


@requirement("JOB-04")
def test_uris_are_for_this_platform(job: Job, loaded_job: LoadedJob, platform_name: str, evidence: Notes) -> None:
    """Every input and output has a scheme that this platform knows."""
    problems = rules.foreign_schemes(job, platform_name)
    evidence.remedy(_remedies(problems))
    assert not problems, _told(problems, loaded_job)


@requirement("JOB-06")
def test_mounts_do_not_collide(job: Job, loaded_job: LoadedJob, evidence: Notes) -> None:
    """No mount point is used twice, none is relative, and no output lies under a read-only mount."""
    problems = rules.mount_collisions(job)
    evidence.remedy(_remedies(problems))
    assert not problems, _told(problems, loaded_job)


@requirement("JOB-07")
def test_pins_are_exact(job: Job, loaded_job: LoadedJob, evidence: Notes) -> None:
    """The image and each package is pinned to one version."""
    problems = rules.inexact_pins(job)
    evidence.remedy(_remedies(problems))
    assert not problems, _told(problems, loaded_job)


@requirement("JOB-09")
def test_no_yaml_trap_is_left(loaded_job: LoadedJob, evidence: Notes) -> None:
    """The file was read without YAML's guesses, and no field holds a placeholder."""
    evidence(keys=len(loaded_job.lines))
    assert loaded_job.job is not None, "the file was not read"


@requirement("JOB-10")
def test_command_can_be_run(job: Job, loaded_job: LoadedJob, command_program: CommandAnswer, evidence: Notes) -> None:
    """The command is not empty, its quotes are balanced, it holds no secret, and its shell or program is there."""
    if loaded_job.file is None and not job.command:
        evidence(found="no command was given: paths, image and platform alone are asked about")
        return
    problems = rules.command_faults(job)
    evidence.remedy(_remedies(problems))
    assert not problems, _told(problems, loaded_job)
    evidence(found=command_program.found, program=command_program.program, where=command_program.where)
    if command_program.deferred:
        defer(command_program.deferred)
    evidence.remedy(command_program.remedy)
    assert command_program.found, f"{command_program.program} is not in {command_program.where}"
