"""On a shared machine a launch takes free GPUs by their IDs, and the suite proves those."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

DOUBLE = Path(__file__).resolve().parents[2] / "doubles" / "nvidia_smi"
BUSY = {"pid": 77, "process_name": "python", "used_memory": 4000}


def launch(folder: Path, busy: list[int], gpus: int, *options: str, **variables: str) -> tuple[int, str, str]:
    """Launch a job that prints its CUDA_VISIBLE_DEVICES on a node with four GPUs: exit code, its log, what was said."""
    scenario: dict[str, Any] = {
        "driver_version": "580.65.06",
        "cuda_version": "13.0",
        "gpus": [{"count": 4, "name": "NVIDIA H100", "compute_cap": "9.0", "memory.total": 81559, "memory.used": 4}],
        "processes": [{"gpu": index, **BUSY} for index in busy],
    }
    (folder / "scenario.json").write_text(json.dumps(scenario))
    job = {"name": "shared", "command": 'echo "devices=$CUDA_VISIBLE_DEVICES"', "gpus": gpus, "processes": 1}
    (folder / "job.yaml").write_text(json.dumps(job))
    own = {"GONOGO_STATE_DIR": str(folder / "state"), "FAKE_GPU_SCENARIO": str(folder / "scenario.json")}
    environment = {**os.environ, **own, "PATH": f"{DOUBLE}:{os.environ['PATH']}", **variables}
    done = subprocess.run(
        [sys.executable, "-m", "gonogo", "launch", str(folder / "job.yaml"), "--watch", *options],
        env=environment, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    return done.returncode, done.stdout, done.stderr


def test_free_devices_are_taken_where_the_first_are_in_use(tmp_path: Path) -> None:
    code, log, said = launch(tmp_path, [0, 1], 2, "--report", str(tmp_path / "r.json"))
    assert code == 0, log + said
    assert "devices=2,3" in log
    assert "GPUs 2, 3 are free" in said
    assert "IDs 2, 3" in said  # the review
    row = next(row for row in json.loads((tmp_path / "r.json").read_text())["rows"] if row["id"] == "GPU-07")
    assert row["state"] == "passed", row


def test_idle_node_is_left_to_its_order(tmp_path: Path) -> None:
    code, log, said = launch(tmp_path, [3], 2)
    assert code == 0, log + said
    assert "devices=0,1" in log
    assert "are free" not in said


def test_devices_that_the_user_names_are_kept(tmp_path: Path) -> None:
    code, log, said = launch(tmp_path, [0], 1, CUDA_VISIBLE_DEVICES="0")
    assert code == 0, log + said
    assert "devices=0" in log
    assert "are free" not in said


def test_too_few_free_devices_are_for_the_suite_to_say(tmp_path: Path) -> None:
    code, log, said = launch(tmp_path, [0, 1, 2], 2, "--set", "requires.exclusive_gpus=true")
    assert code == 1, log + said
    assert "GPU-07" in log
