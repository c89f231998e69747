"""`gonogo inspect` and `gonogo diagnose` as a person types them, on this node and on a real daemon."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

DOUBLE = Path(__file__).resolve().parents[2] / "doubles" / "nvidia_smi"
SCENARIO = {
    "driver_version": "580.65.06",
    "cuda_version": "13.0",
    "gpus": [{"count": 2, "name": "NVIDIA H100", "compute_cap": "9.0", "memory.total": 81559, "memory.used": 100}],
    "processes": [{"gpu": 0, "pid": 77, "process_name": "python", "used_memory": 90}],
}


def gonogo(state: Path, *words: str, **more: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "GONOGO_STATE_DIR": str(state), **more}
    environment.pop("DOCKER_HOST", None)
    return subprocess.run(
        [sys.executable, "-m", "gonogo", *words],
        env=environment,
        capture_output=True,
        text=True,
        timeout=90,
        check=False,
    )


def table(output: str, title: str) -> dict[str, Any]:
    found: dict[str, Any] = next(one for one in json.loads(output)["tables"] if one["title"] == title)
    return found


def test_node_and_its_gpus_are_shown(tmp_path: Path) -> None:
    (tmp_path / "scenario.json").write_text(json.dumps(SCENARIO))
    path = f"{DOUBLE}:{os.environ['PATH']}"
    done = gonogo(tmp_path, "inspect", "--json", PATH=path, FAKE_GPU_SCENARIO=str(tmp_path / "scenario.json"))
    assert done.returncode == 0, done.stderr
    gpus = table(done.stdout, "GPUs")
    assert [row[0] for row in gpus["rows"]] == ["0", "1"]
    assert gpus["rows"][0][5] == "python (77)"
    assert gpus["rows"][1][5] == ""
    assert "driver 580.65.06" in gpus["note"]


def test_node_without_a_driver_says_so(tmp_path: Path) -> None:
    done = gonogo(tmp_path, "inspect", PATH="/usr/bin:/bin")
    assert done.returncode == 0, done.stderr
    assert "nvidia-smi is not on PATH" in done.stdout


def test_daemon_shows_its_images_and_networks(tmp_path: Path, docker_daemon: Any) -> None:
    done = gonogo(tmp_path, "inspect", "--platform", "local-docker", "--docker-host", docker_daemon.url, "--json")
    assert done.returncode == 0, done.stderr
    assert docker_daemon.busybox in [row[0] for row in table(done.stdout, "Images")["rows"]]
    assert ["host", "host"] in table(done.stdout, "Networks")["rows"]


def test_daemon_that_is_not_there_is_one_line_with_a_remedy(tmp_path: Path) -> None:
    done = gonogo(tmp_path, "inspect", "--platform", "local-docker", "--docker-host", "unix:///no/such/socket")
    assert done.returncode == 1
    assert "no Docker socket" in done.stderr
    assert "fix:" in done.stderr


def test_failed_job_is_diagnosed_with_its_own_words(tmp_path: Path) -> None:
    job = tmp_path / "job.yaml"
    job.write_text("name: full\ncommand: \"echo 'OSError: [Errno 28] No space left on device'; exit 9\"\n")
    launched = gonogo(tmp_path, "launch", str(job), "--id", "full", "--watch")
    assert launched.returncode == 5, launched.stderr
    done = gonogo(tmp_path, "diagnose", "full", "--json")
    found = json.loads(done.stdout)
    assert done.returncode == 1
    assert (found["kind"], found["row"], found["state"]) == ("capacity", "PATH-05", "Error")
    assert found["evidence"] == ["OSError: [Errno 28] No space left on device"]


def test_sound_job_has_nothing_to_diagnose(tmp_path: Path) -> None:
    job = tmp_path / "job.yaml"
    job.write_text('name: fine\ncommand: "true"\n')
    assert gonogo(tmp_path, "launch", str(job), "--id", "fine", "--watch").returncode == 0
    done = gonogo(tmp_path, "diagnose", "fine")
    assert done.returncode == 0
    assert "nothing is wrong" in done.stdout
