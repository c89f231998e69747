"""PATH: inputs, outputs and mounts, asked on the host that will run the job and as the job's identity."""

from __future__ import annotations

from gonogo.fixtures.outcomes import Notes
from gonogo.fixtures.probes.path_facts import PathFacts
from gonogo.fixtures.requirement import block, requirement
from gonogo.jobs.model import Job
from gonogo.jobs.sizes import format_size
from gonogo.reports.plain import one_line


@requirement("PATH-01")
def test_input_is_there_and_readable(param: str, path_facts: PathFacts, evidence: Notes) -> None:
    """The input exists on the job's host, is what its name says, and the job's identity can read it."""
    answer = path_facts.read(param)
    evidence(found=answer.found, expected="readable", identity=answer.identity, asked=answer.asked)
    evidence.remedy(answer.remedy)
    assert answer.holds, answer.message


@requirement("PATH-02")
def test_folder_is_writable(param: str, path_facts: PathFacts, evidence: Notes) -> None:
    """A folder that the job writes can be written and cleaned by its identity; a read-only mount is there.

    Where the job runs in a container, the writing is row ID-02's to judge.
    """
    answer = path_facts.write(param)
    kind = "writable" if param in path_facts.writable else "read-only"
    evidence(found=answer.found, expected=answer.expected, identity=answer.identity, asked=answer.asked, mount=kind)
    if answer.tried and not answer.holds and path_facts.in_container:
        block(f"ID-02[{param}]", answer.message)
    evidence.remedy(answer.remedy)
    assert answer.holds, answer.message


@requirement("PATH-05")
def test_output_has_room(param: str, path_facts: PathFacts, job: Job, evidence: Notes) -> None:
    """Free space and free inodes of the output's filesystem meet `requires.disk`."""
    space = path_facts.space(param)
    wanted = job.requires.disk or 0
    evidence(
        found=f"{format_size(space.free_bytes)} free, {space.free_inodes} inodes",
        expected=f"at least {format_size(wanted)}",
    )
    evidence(filesystem=space.mount)
    place = one_line(param)
    assert space.free_bytes >= wanted, (
        f"{place} has {format_size(space.free_bytes)} free, the job requires {format_size(wanted)}"
    )
    assert space.free_bytes > 0, f"the filesystem of {place} is full"
    assert space.free_inodes != 0, f"the filesystem of {place} has no free inodes"
