"""How an interactive job's command is run: by a shell or as it stands, alone or under torchrun."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Sequence

from gonogo.jobs.model import Job
from gonogo.platforms.interactive.environment import master_port
from gonogo.platforms.node import first_word, under_torchrun

BASH = "/bin/bash"


def shell() -> str:
    """The shell for a command that is a string: bash where it is, else sh."""
    return BASH if os.access(BASH, os.X_OK) else "/bin/sh"


def arguments(job: Job) -> list[str]:
    """The argument vector: a list as it stands, a string for the shell; see `under_torchrun`."""
    if isinstance(job.command, str):
        text = torchrun_text(job) if under_torchrun(job) else job.command
        return [shell(), "-c", text]
    return torchrun_words(job, job.command) if under_torchrun(job) else list(job.command)


def torchrun_words(job: Job, words: Sequence[str]) -> list[str]:
    """`python train.py …` as torchrun's arguments. A path to an interpreter keeps it; interpreter options too."""
    python, rest = words[0], list(words[1:])
    while rest[:1] == ["-u"]:  # torchrun runs its workers unbuffered itself
        rest.pop(0)
    head = ["torchrun"] if "/" not in python else [python, "-m", "torch.distributed.run"]
    head += ["--nnodes", "1", "--nproc-per-node", str(job.processes_per_node)]
    head += ["--master-addr", "127.0.0.1", "--master-port", str(master_port(job))]
    if rest and rest[0].startswith("-") and rest[0] != "-m":
        return [*head, "--no-python", python, *rest]
    return [*head, *rest]


def torchrun_text(job: Job) -> str:
    """The same for a string: only its leading words are replaced, the rest is left to the shell as it was written."""
    text = str(job.command).lstrip()
    python = first_word(job)
    rest = text[len(python) :]
    lead = re.match(r"(\s+-u)*(?=\s|$)", rest)
    rest = rest[lead.end() :] if lead else rest
    option = re.match(r"\s+(-\S+)", rest)
    words = [python, option[1]] if option else [python]
    replaced = torchrun_words(job, words)
    if option:
        rest = rest[option.end() :]
    return shlex.join(replaced) + rest
