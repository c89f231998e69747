"""No way of running less than everything, and no way of being cut short, gives GO or exit status 0."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import suite_runs
from suite_runs import ROOT, environment, states

JOB = """\
name: fail-closed
command: "true"
inputs:
  - {name: hosts, uri: /etc/hosts}
  - {name: group, uri: /etc/group}
"""


def start(folder: Path, *options: str, job: str = JOB, **more: str) -> subprocess.Popen[str]:
    return suite_runs.start(folder, *options, job=job, **more)


def run(folder: Path, *options: str, job: str = JOB, **more: str) -> suite_runs.Finished:
    return suite_runs.run(folder, *options, job=job, **more)


def test_sound_job_is_go(tmp_path: Path) -> None:
    status, output, document = run(tmp_path)
    assert document is not None, output
    assert (status, document["verdict"]) == (0, "GO"), output
    assert states(document)["PATH-01[/etc/hosts]"] == "passed"


def test_broken_job_is_no_go_with_one_cause_and_remedy(tmp_path: Path) -> None:
    status, output, document = run(tmp_path, job=JOB.replace("/etc/group", "/no/such/group"))
    assert document is not None, output
    assert (status, document["verdict"]) == (1, "NO-GO")
    assert [cause["name"] for cause in document["causes"]] == ["PATH-01[/no/such/group]"]
    assert "/no/such/group" in document["causes"][0]["cause"]
    assert document["causes"][0]["remedy"]


@pytest.mark.parametrize(
    "selection",
    [
        ["-k", "PATH-01"],
        ["-k", "nothing_has_this_name"],
        ["-m", "requirement and not requirement"],
        ["checks/test_paths.py"],
        ["--ignore=checks/test_paths.py"],
        ["--deselect=checks/test_paths.py"],
        ["checks/test_paths.py::test_input_is_there_and_readable"],
    ],
    ids=lambda selection: " ".join(selection),
)
def test_selection_is_incomplete(tmp_path: Path, selection: list[str]) -> None:
    status, output, document = run(tmp_path, *selection)
    assert document is not None, output
    assert document["verdict"] == "INCOMPLETE", output
    assert status != 0
    assert "not-run" in states(document).values()


def test_last_failed_is_incomplete(tmp_path: Path) -> None:
    options = ["-p", "cacheprovider", "-o", f"cache_dir={tmp_path / 'cache'}"]
    mended = tmp_path / "mended-later"
    job = JOB.replace("/etc/group", str(mended))
    assert run(tmp_path, *options, job=job)[0] == 1
    mended.touch()
    status, output, document = run(tmp_path, *options, "--lf", job=job)
    assert document is not None, output
    assert status != 0
    assert document["verdict"] == "INCOMPLETE"
    assert states(document)[f"PATH-01[{mended}]"] == "passed"


def test_stop_at_first_failure_is_no_go(tmp_path: Path) -> None:
    broken = JOB.replace("/etc/hosts", "/no/such/hosts")
    status, output, document = run(tmp_path, "-x", job=broken)
    assert document is not None, output
    assert (status, document["verdict"]) == (1, "NO-GO")
    assert states(document)["PATH-01[/etc/group]"] == "not-run"


def test_collection_error_is_incomplete(tmp_path: Path) -> None:
    own = tmp_path / "own"
    own.mkdir()
    (own / "test_broken.py").write_text("import no_such_module_anywhere\n")
    status, output, document = run(tmp_path, f"--checks={own}")
    assert document is not None, output
    assert status != 0
    assert document["verdict"] == "INCOMPLETE"
    assert "test_broken.py could not be collected: ModuleNotFoundError" in document["because"]


def test_skipped_checks_are_not_passed(tmp_path: Path) -> None:
    (tmp_path / "skip_everything.py").write_text(
        "import pytest\n\n\ndef pytest_runtest_setup(item):\n    pytest.skip('not today')\n"
    )
    status, output, document = run(tmp_path, "-p", "skip_everything", PYTHONPATH=str(tmp_path))
    assert document is not None, output
    assert status != 0
    assert document["verdict"] != "GO"


def test_lost_worker_is_not_go(tmp_path: Path) -> None:
    (tmp_path / "kill_a_worker.py").write_text(
        "import os, signal\n\n\ndef pytest_runtest_setup(item):\n"
        "    if 'PATH-01[/etc/hosts]' in item.extra_keyword_matches:\n        os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    status, output, document = run(
        tmp_path, "-n2", "--max-worker-restart=0", "-p", "kill_a_worker", PYTHONPATH=str(tmp_path)
    )
    assert document is not None, output
    assert status != 0
    assert document["verdict"] != "GO"
    assert states(document)["PATH-01[/etc/hosts]"] == "not-run"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupted_run_leaves_a_report_that_says_incomplete(tmp_path: Path, number: signal.Signals) -> None:
    (tmp_path / "wait_here.py").write_text(
        "import pathlib, time\n\n\ndef pytest_runtest_call(item):\n"
        f"    pathlib.Path({str(tmp_path / 'reached')!r}).touch()\n    time.sleep(60)\n"
    )
    process = start(tmp_path, "-p", "wait_here", PYTHONPATH=str(tmp_path))
    ends = time.monotonic() + 60
    while not (tmp_path / "reached").exists():
        assert time.monotonic() < ends, "the run never reached its first check"
        time.sleep(0.05)
    process.send_signal(number)
    output, _ = process.communicate(timeout=60)
    document = json.loads((tmp_path / "readiness.json").read_text())
    assert process.returncode not in (0, None), output
    assert document["verdict"] == "INCOMPLETE"
    assert "interrupted" in document["because"]


@pytest.mark.parametrize("workers", ["1", "4"])
def test_workers_give_the_same_rows_and_verdict(tmp_path: Path, workers: str) -> None:
    job = JOB.replace("/etc/group", "/no/such/group")
    alone = run(tmp_path, job=job)[2]
    shared = run(tmp_path, f"-n{workers}", job=job)[2]
    assert alone is not None
    assert shared is not None
    assert states(shared) == states(alone)
    assert shared["causes"] == alone["causes"]
    assert (shared["verdict"], shared["because"]) == (alone["verdict"], alone["because"])
    assert sorted(probe["name"] for probe in shared["probes"]) == sorted(probe["name"] for probe in alone["probes"])


def test_deadline_of_the_suite_is_incomplete(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    slow = tmp_path / "bin" / "nvidia-smi"
    slow.write_text("#!/bin/sh\nexec sleep 60\n")
    slow.chmod(0o755)
    path = f"{tmp_path / 'bin'}:{os.environ['PATH']}"
    status, output, document = run(tmp_path, "--deadline=3", "--gpus=1", PATH=path)
    assert document is not None, output
    assert status != 0
    assert document["verdict"] != "GO"
    assert document["cut_short"]


@pytest.mark.parametrize("name", ["nope", "", "../../etc", "local_docker"])
def test_unknown_platform_lists_the_seven(tmp_path: Path, name: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "pytest", f"--platform={name}"],
        cwd=ROOT,
        env=environment(tmp_path),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 4
    for known in ("interactive", "local-docker", "remote-docker", "brev", "lepton", "slurm", "skypilot"):
        assert known in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("platform", ["interactive", "local-docker"])
@pytest.mark.parametrize("how", ["--collect-only", "--setup-plan"])
def test_collecting_needs_no_target(tmp_path: Path, platform: str, how: str) -> None:
    (tmp_path / "job.yaml").write_text(JOB)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", f"--platform={platform}", f"--job={tmp_path / 'job.yaml'}", how, "-q"],
        cwd=ROOT,
        env=environment(tmp_path, DOCKER_HOST="unix:///no/such/socket"),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    assert "PATH-01" not in done.stderr
    assert "/etc/hosts" in done.stdout
