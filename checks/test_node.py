"""NODE: what an interactive job needs of this machine."""

from __future__ import annotations

from gonogo.fixtures.outcomes import Notes
from gonogo.fixtures.requirement import requirement
from gonogo.jobs.model import Job
from gonogo.jobs.sizes import format_size
from gonogo.platforms.gpus import VisibleGpus
from gonogo.platforms.node import ProgramFacts
from gonogo.platforms.probe.answers import NodeAnswer

#: Data loaders of the usual frameworks run out of files below this.
OPEN_FILES = 1024


@requirement("NODE-01")
def test_program_and_packages_are_there(node_programs: ProgramFacts, evidence: Notes) -> None:
    """The command's program, torchrun where it is needed, and each package in the job's interpreter are there."""
    evidence(found=", ".join(f"{name}: {path or 'missing'}" for name, path in node_programs.programs.items()))
    evidence(expected=", ".join([*node_programs.programs, *node_programs.packages]))
    evidence(interpreter=node_programs.interpreter, packages=", ".join(node_programs.packages) or None)
    missing = [name for name, path in node_programs.programs.items() if not path]
    if missing:
        evidence.remedy(f"Install {missing[0]} on this node, or activate the environment that has it")
    assert not missing, f"not found on this node: {', '.join(missing)}"
    absent = [name for name, place in node_programs.packages.items() if not place]
    if absent:
        evidence.remedy(f"{node_programs.interpreter} -m pip install {' '.join(absent)}")
    assert not absent, f"{node_programs.interpreter} has no module {', '.join(absent)}"


@requirement("NODE-02", remedy="Set `processes` to at most {found}, or run on a node with more GPUs")
def test_each_process_has_a_gpu(job: Job, visible_gpus: VisibleGpus, evidence: Notes) -> None:
    """There are at least as many visible GPUs as processes."""
    found = len(visible_gpus.gpus)
    evidence(found=found, expected=f"at least {job.processes_per_node}")
    assert found >= job.processes_per_node, f"{job.processes_per_node} processes, {found} visible GPUs"


@requirement("NODE-03")
def test_memory_and_limits_are_enough(job: Job, node: NodeAnswer, evidence: Notes) -> None:
    """Memory, /dev/shm and the limit of open files meet the job's needs."""
    memory, shm, files = job.requires.memory or 0, job.requires.shm or 0, job.requires.open_files or OPEN_FILES
    available = min(node.memory_available, node.memory_limit or node.memory_available)
    evidence(
        found=_needs(available, node.shm_size or 0, node.open_files), expected=f"at least {_needs(memory, shm, files)}"
    )
    assert available >= memory, f"{format_size(available)} memory is available, the job requires {format_size(memory)}"
    assert (node.shm_size or 0) >= shm, (
        f"/dev/shm has {format_size(node.shm_size or 0)}, the job requires {format_size(shm)}"
    )
    if node.open_files is not None and node.open_files < files:
        evidence.remedy(
            f"ulimit -n {files} in the shell that launches (its hard limit is {node.open_files_hard or 'unlimited'})"
        )
    assert node.open_files is None or node.open_files >= files, (
        f"{node.open_files} open files are allowed, the job needs {files}"
    )


def _needs(memory: int, shm: int, files: int | None) -> str:
    return f"{format_size(memory)} memory, {format_size(shm)} /dev/shm, {files or 'unlimited'} open files"
