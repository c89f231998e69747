"""Parallel splits: N jobs of one file after one run of the suite; only those that failed are launched again."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

JOB = """\
name: swarm
splits: 3
command: "echo split {split} >> OUT; test ! -e FOLDER/broken-{split}"
outputs:
  - {name: out, uri: FOLDER}
"""


def gonogo(state: Path, *words: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "GONOGO_STATE_DIR": str(state)}
    return subprocess.run(
        [sys.executable, "-m", "gonogo", *words],
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def write_job(folder: Path) -> Path:
    job = folder / "job.yaml"
    job.write_text(JOB.replace("OUT", str(folder / "runs")).replace("FOLDER", str(folder)))
    return job


def states(done: subprocess.CompletedProcess[str]) -> dict[str, str]:
    return {record["id"]: record["state"] for record in json.loads(done.stdout)}


def test_only_failed_splits_are_launched_again(tmp_path: Path) -> None:
    job, state = write_job(tmp_path), tmp_path / "state"
    (tmp_path / "broken-1").touch()
    first = gonogo(state, "launch", str(job), "--id", "s", "--watch", "--report", str(tmp_path / "r.json"))
    assert first.returncode == 5, first.stderr
    assert first.stderr.count("submitted s-") == 3
    assert sorted((tmp_path / "runs").read_text().split("\n")) == ["", "split 0", "split 1", "split 2"]
    status = gonogo(state, "status", "s", "--json")
    assert status.returncode == 1
    assert states(status) == {"s-0": "Complete", "s-1": "Error", "s-2": "Complete"}
    (tmp_path / "broken-1").unlink()
    second = gonogo(state, "launch", str(job), "--id", "s", "--watch")
    assert second.returncode == 0, second.stderr
    assert second.stderr.count("submitted s-") == 1
    assert (tmp_path / "runs").read_text().split("\n").count("split 1") == 2
    assert (tmp_path / "runs").read_text().split("\n").count("split 0") == 1
    assert states(gonogo(state, "status", "s", "--json")) == dict.fromkeys(["s-0", "s-1", "s-2"], "Complete")


def test_log_is_asked_of_one_split(tmp_path: Path) -> None:
    job, state = write_job(tmp_path), tmp_path / "state"
    assert gonogo(state, "launch", str(job), "--id", "s", "--watch").returncode == 0
    done = gonogo(state, "logs", "s")
    assert done.returncode == 2
    assert "s-0, s-1, s-2" in done.stderr
    assert gonogo(state, "logs", "s-1").returncode == 0


def test_all_splits_are_canceled_together(tmp_path: Path) -> None:
    job, state = write_job(tmp_path), tmp_path / "state"
    job.write_text(job.read_text().replace('command: "', 'command: "sleep 60; '))
    assert gonogo(state, "launch", str(job), "--id", "s").returncode == 0
    done = gonogo(state, "cancel", "s", "--grace", "1", "--json")
    assert done.returncode == 0, done.stderr
    assert states(done) == dict.fromkeys(["s-0", "s-1", "s-2"], "Canceled")


def test_command_without_the_splits_number_is_no_go(tmp_path: Path) -> None:
    job = write_job(tmp_path)
    job.write_text(job.read_text().replace("{split}", "x"))
    done = gonogo(tmp_path / "state", "launch", str(job), "--id", "s")
    assert done.returncode == 1
    assert "{split}" in done.stdout
    assert not (tmp_path / "runs").exists()


def test_id_that_leaves_no_room_for_the_split_is_refused(tmp_path: Path) -> None:
    done = gonogo(tmp_path / "state", "launch", str(write_job(tmp_path)), "--id", "x" * 40)
    assert done.returncode == 2
    assert "too long for 3 splits" in done.stderr
