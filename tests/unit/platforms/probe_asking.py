"""Running the probe script in the shells that are here, for the tests of this folder."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from gonogo.platforms.interactive.processes import read_stat
from gonogo.platforms.probe.answers import Answers
from gonogo.platforms.probe.parse import parse
from gonogo.platforms.probe.questions import Question
from gonogo.platforms.probe.render import render
from gonogo.platforms.shell import Completed, Identity, LocalShell

SHELLS = {"dash": ("dash",), "bash": ("bash",), "busybox": ("busybox", "ash")}
SH = ("/bin/sh",)
NONCE = "0123456789abcdef"
NVIDIA_SMI = Path(__file__).parents[2] / "doubles" / "nvidia_smi"


def shells() -> list[object]:
    """One parameter for each shell; those that are not here are left out by name."""
    parameters = []
    for name, words in SHELLS.items():
        found = shutil.which(words[0])
        missing = [] if found else [pytest.mark.skip(reason=f"{name} is not installed")]
        parameters.append(pytest.param((found or words[0], *words[1:]), id=name, marks=missing))
    return parameters


def run(program: bytes, sh: tuple[str, ...] = SH, **options: object) -> Completed:
    return LocalShell(sh=sh).run(program, **{"deadline": 60.0, **options})  # type: ignore[arg-type]


def ask(
    questions: Sequence[Question],
    sh: tuple[str, ...] = SH,
    *,
    env: Mapping[str, str] | None = None,
    user: Identity | None = None,
    cwd: str | None = None,
) -> Answers:
    done = run(render(questions, NONCE), sh, env=env, user=user, cwd=cwd)
    assert done.returncode == 0, done
    return parse(done.stdout, NONCE, questions, "here")


def environment(**changes: str) -> dict[str, str]:
    return {**os.environ, **changes}


def tools(folder: Path, *names: str) -> str:
    """A PATH with those programs only."""
    folder.mkdir(exist_ok=True)
    for name in names:
        real = shutil.which(name)
        assert real is not None, name
        # Not a copy: busybox and python find out who they are from their own path.
        (folder / name).write_text(f'#!/bin/sh\nexec {real} "$@"\n')
        (folder / name).chmod(0o755)
    return str(folder)


def gone(pid: int, patience: float = 10.0) -> bool:
    """Whether the process has ended, or does within that time; one that only waits for its parent has."""
    ends = time.monotonic() + patience
    while (stat := read_stat(pid)) is not None and stat.state not in "ZX":
        if time.monotonic() > ends:
            return False
        time.sleep(0.02)
    return True


def script(path: Path, text: str) -> Path:
    path.write_text(text)
    path.chmod(0o755)
    return path
