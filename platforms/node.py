"""What this node says about an interactive job's programs and packages (NODE-01)."""

from __future__ import annotations

import os.path
import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass

from gonogo.jobs.model import Job
from gonogo.platforms.programs import first_program


@dataclass(frozen=True)
class ProgramFacts:
    """`programs` maps each needed program to its path, None where it is missing; `packages` each module to its place,
    '' likewise."""

    programs: Mapping[str, str | None]
    packages: Mapping[str, str]
    interpreter: str


def needed_programs(job: Job) -> list[str]:
    """The command's own program, and torchrun where more than one process is asked for."""
    names = [first_program(job)]
    if job.processes_per_node > 1 and not starts_processes_itself(job):
        names.append("torchrun")
    return [name for name in dict.fromkeys(names) if name]


def starts_processes_itself(job: Job) -> bool:
    """Whether the command calls a launcher of its own for its processes."""
    return any(os.path.basename(word) in _LAUNCHERS for word in words(job))


def interpreter(job: Job) -> str:
    """The Python that the command uses: its own `python…` word, else PATH's python3."""
    for word in words(job):
        if _PYTHON.fullmatch(os.path.basename(word)):
            return word
    return "python3"


def words(job: Job) -> list[str]:
    """The command's words, as a shell would split them; as they stand where it could not."""
    if not isinstance(job.command, str):
        return list(job.command)
    try:
        return shlex.split(job.command, comments=True)
    except ValueError:
        return job.command.split()


_PYTHON = re.compile(r"python(\d+(\.\d+)*)?")
_LAUNCHERS = frozenset({"torchrun", "accelerate", "deepspeed", "mpirun", "mpiexec", "srun", "horovodrun"})
