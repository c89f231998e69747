"""The program that asks torch, run with a stand-in for torch."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from gonogo.platforms.probe.answers import TorchAnswer
from gonogo.platforms.probe.parse import parse
from gonogo.platforms.probe.questions import TorchQuestion
from gonogo.platforms.probe.render import render
from gonogo.platforms.shell import LocalShell

DOUBLE = Path(__file__).parents[2] / "doubles" / "torch"
GOOD = {
    "version": "2.9.0",
    "cuda": "13.0",
    "architectures": ["sm_90"],
    "capabilities": [[9, 0], [9, 0]],
    "fault": None,
}


def ask(folder: Path, *, all_reduce: bool = False, **changes: Any) -> TorchAnswer:
    (folder / "torch.json").write_text(json.dumps({**GOOD, **changes}))
    env = {"PATH": os.environ["PATH"], "PYTHONPATH": str(DOUBLE), "FAKE_TORCH": str(folder / "torch.json")}
    question = TorchQuestion(python=sys.executable, seconds=20, all_reduce=all_reduce)
    done = LocalShell().run(render([question], "abc"), deadline=30, env={**env, "PYTHONDONTWRITEBYTECODE": "1"})
    return parse(done.stdout, "abc", [question]).torch()


def test_a_kernel_runs_on_every_device(tmp_path: Path) -> None:
    answer = ask(tmp_path)
    assert (answer.trouble, answer.ran, answer.kernel_trouble) == ("", (0, 1), "")
    assert (answer.bandwidth, answer.reduce_trouble) == (None, "")


def test_a_kernel_that_is_not_in_the_image(tmp_path: Path) -> None:
    answer = ask(tmp_path, kernel_fault="CUDA error: no kernel image is available for execution on the device")
    assert answer.available, "torch itself says that all is well"
    assert answer.ran == ()
    assert "device 0: RuntimeError: CUDA error: no kernel image" in answer.kernel_trouble


@pytest.mark.parametrize(("wrong", "trouble"), [(False, ""), (True, "device 0 has a wrong sum")])
def test_a_sum_over_all_devices(tmp_path: Path, wrong: bool, trouble: str) -> None:
    answer = ask(tmp_path, all_reduce=True, wrong_sum=wrong)
    assert answer.reduce_trouble == trouble
    assert (answer.bandwidth is not None) is not wrong
