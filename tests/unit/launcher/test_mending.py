"""`fix` runs commands that it knows, only after a yes; prose and choices are left to a person."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
import suite_runs

from gonogo.launcher.commands.mending import commands_in, remedies


@pytest.mark.parametrize(
    ("remedy", "commands"),
    [
        ("mkdir -p /data", [["mkdir", "-p", "/data"]]),
        ("mkdir -p '/a b' && chown 0:0 '/a b'", [["mkdir", "-p", "/a b"], ["chown", "0:0", "/a b"]]),
        ("sudo systemctl start docker", [["sudo", "systemctl", "start", "docker"]]),
    ],
)
def test_commands_are_taken_apart(remedy: str, commands: list[list[str]]) -> None:
    assert commands_in(remedy) == commands


@pytest.mark.parametrize(
    "remedy",
    [
        "",
        "Free some memory.",
        "set `run_as: 1:1` in the job file",
        "export HF_TOKEN=…",
        "docker",
        "docker network rm x, or set `docker.network` to another name",
        "docker network ls, then `docker network rm ID` for all but one",
        "docker pull REF",
        "docker pull --platform linux/$(uname -m) x",
        "mkdir -p /a; rm -rf /",
        "mkdir -p /a && rm -rf /",
        "mkdir -p /a | tee x",
        "mkdir -p 'unbalanced",
        "mkdir -p /a\nrm -rf /",
        "sudo rm -rf /",
        "write docker: in the job file",
    ],
)
def test_anything_else_is_left_to_a_person(remedy: str) -> None:
    assert commands_in(remedy) == []


def test_each_remedy_is_offered_once_and_only_for_what_stands_in_the_way() -> None:
    document = {
        "causes": [{"remedy": "mkdir -p /a"}, {"remedy": "mkdir -p /a"}, {"remedy": "Ask somebody."}, {"remedy": None}],
        "rows": [
            {"state": "warned", "remedy": "chmod 0700 /b"},
            {"state": "passed", "remedy": "chmod 0700 /c"},
        ],
    }
    assert remedies(document) == ["mkdir -p /a", "chmod 0700 /b"]


def run_fix(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    missing = folder / "made" / "results"
    job = {"name": "fix", "command": "true", "outputs": [{"name": "results", "uri": str(missing)}]}
    (folder / "job.yaml").write_text(json.dumps(job))
    command = [sys.executable, "-m", "gonogo", "fix", "job.yaml", "--platform=interactive", *options]
    return subprocess.run(
        command,
        cwd=folder,
        env=suite_runs.environment(folder),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_without_a_yes_nothing_is_run(tmp_path: Path) -> None:
    done = run_fix(tmp_path)
    assert done.returncode == 1, done.stderr
    assert f"not run: mkdir -p {tmp_path}/made/results" in done.stderr
    assert not (tmp_path / "made").exists()


def test_with_yes_the_row_is_mended(tmp_path: Path) -> None:
    done = run_fix(tmp_path, "--yes")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("GO ")
    assert (tmp_path / "made" / "results").is_dir()
