"""The guard of a question that may hang ends with the question, however quickly that is answered."""

from __future__ import annotations

from pathlib import Path

import pytest
from probe_asking import NONCE, environment, run, shells, tools

from gonogo.platforms.probe.questions import GpuQuestion
from gonogo.platforms.probe.render import render


@pytest.mark.parametrize("sh", shells())
def test_quick_answers_are_not_called_silent(sh: tuple[str, ...], tmp_path: Path) -> None:
    """A guard that had not become `sleep` yet, and still had the script's traps, lost its signal: one answer in ten."""
    env = environment(PATH=tools(tmp_path / "bin", "sleep", "kill", "rm"))  # no nvidia-smi: answered at once
    answered = run(render([GpuQuestion(seconds=5)] * 100, NONCE), sh, env=env).stdout.decode()
    assert answered.count("devices-status absent") == 100
    assert "silent" not in answered
