"""A job on this node from the gate to its end, and what the exit codes say. See docs/exit-codes.md."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from gonogo_command import Gonogo


def test_launch_status_logs(gonogo: Gonogo) -> None:
    done = gonogo.ok("launch", gonogo.job(command="echo out; echo err >&2"), "--id", "first")
    assert done.err.startswith("launch first\n")
    assert "submitted first" in done.err
    assert gonogo.wait_for("first", "Complete")["exit_code"] == 0
    assert gonogo.ok("status", "first").out == "first Complete (exit code 0)\n"
    assert gonogo.ok("logs", "first").out == "out\nerr\n"
    assert gonogo.ok("logs", "first", "--tail", "1").out == "err\n"


def test_launch_names_itself_after_the_job(gonogo: Gonogo) -> None:
    name = "Dino_fine.tune-with-a-name-that-is-too-long-for-an-ID"
    done = gonogo.ok("launch", gonogo.job(name=name, command="true"), "--json")
    launch_id = done.json["id"]
    assert re.fullmatch(r"[Dd]ino-fine-tune-[A-Za-z0-9-]*[0-9a-f]{6}", launch_id)
    assert len(launch_id) <= 40
    assert done.err.startswith(f"launch {launch_id}\n"), "the ID is said first"
    assert gonogo.record(launch_id)["id"] == launch_id


def test_watched_job_that_fails(gonogo: Gonogo) -> None:
    job = gonogo.job(command="echo hello; exit 3")
    done = gonogo("launch", job, "--id", "three", "--watch")
    assert done.status == 5, done.said
    assert "hello\n" in done.out
    assert "three Error (exit code 3)" in done.err
    status = gonogo("status", "three")
    assert (status.status, status.out) == (1, "three Error (exit code 3)\n"), status.said
    assert gonogo("status", "three", "--json").json["exit_code"] == 3
    again = gonogo("launch", job, "--id", "three", "--watch", "--json")
    assert again.status == 5, again.said
    assert again.json["exit_code"] == 3


def test_watched_job_that_succeeds(gonogo: Gonogo) -> None:
    done = gonogo.ok("launch", gonogo.job(command="echo hello"), "--id", "zero", "--watch", "--json")
    assert (done.json["state"], done.json["exit_code"]) == ("Complete", 0)


def test_no_go_submits_nothing(gonogo: Gonogo, tmp_path: Path) -> None:
    job = gonogo.job(command=f"touch {tmp_path}/ran", inputs=[{"name": "gone", "uri": "/no/such/input"}])
    done = gonogo("launch", job, "--id", "stopped")
    assert done.status == 1, done.said
    assert "/no/such/input" in done.out + done.err
    assert "nothing was submitted" in done.err
    assert not (tmp_path / "ran").exists()
    assert not list(gonogo.state.glob("interactive/*"))
    assert gonogo("status", "stopped").status == 2


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["launch", "JOB", "--platform=nope"], "unknown platform 'nope'"),
        (["launch", "JOB", "--id", "a b"], "launch ID 'a b'"),
        (["launch", "JOB", "--id", "x" * 41], "at most 40"),
        (["launch", "JOB", "--set", "gpu=1"], "did you mean 'gpus'?"),
        (["launch", "/no/such/job.yaml"], "/no/such/job.yaml"),
        (["launch", "JOB", "--no-such-option"], "No such option"),
        (["no-such-command"], "No such command"),
        (["check", "JOB", "--platform=../../etc"], "interactive, local-docker, remote-docker, brev, lepton, slurm"),
        (["check", "JOB", "--report", "x.pdf"], "the suffix must be one of .html, .json, .md"),
        (["check", "JOB", "--wait", "soon"], "--wait"),
        (["check", "JOB", "--deadline", "-1"], "--deadline"),
        (["status", "never"], "no launch never"),
        (["status", "../../etc/passwd"], "launch ID"),
        (["logs", "never", "--tail", "-1"], "--tail"),
        (["explain", "NOPE-99"], "no row NOPE-99"),
        (["report", "JOB", "--to", "x.html"], "job.yaml"),
        (["init", "--file", "JOB"], "is there already"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_usage_errors(gonogo: Gonogo, words: list[str], message: str) -> None:
    job = gonogo.job(command="true")
    gonogo.options = ()
    done = gonogo(*[job if word == "JOB" else word for word in words])
    assert done.status == 2, done.said
    assert message in done.err, done.said
    assert "Traceback" not in done.err
    assert not list(gonogo.state.glob("interactive/*"))


def test_two_faults_are_both_told(gonogo: Gonogo) -> None:
    done = gonogo("launch", gonogo.job(command="true", gpu=1, imag="x"))
    assert done.status == 2
    assert "did you mean 'gpus'?" in done.err
    assert "did you mean 'image'?" in done.err


def test_same_id_for_another_job_is_a_usage_error(gonogo: Gonogo) -> None:
    gonogo.ok("launch", gonogo.job(command="true"), "--id", "mine")
    done = gonogo("launch", gonogo.job("other.yaml", command="echo other"), "--id", "mine")
    assert done.status == 2, done.said
    assert "belongs to another job" in done.err


def test_second_launch_makes_no_second_job(gonogo: Gonogo, tmp_path: Path) -> None:
    job = gonogo.job(command=f"echo run >>{tmp_path}/count")
    for _ in range(2):
        gonogo.ok("launch", job, "--id", "once")
    gonogo.wait_for("once", "Complete")
    assert (tmp_path / "count").read_text() == "run\n"


def test_replace_runs_an_ended_job_again_and_no_running_one(gonogo: Gonogo, tmp_path: Path) -> None:
    job = gonogo.job(command=f"echo run >>{tmp_path}/count; [ -e {tmp_path}/go ] || sleep 600")
    gonogo.ok("launch", job, "--id", "again")
    gonogo.wait_for("again", "Running")
    gonogo("launch", job, "--id", "again", "--replace")
    assert (tmp_path / "count").read_text() == "run\n"
    gonogo.ok("cancel", "again", "--grace", "1")
    (tmp_path / "go").touch()
    gonogo.ok("launch", job, "--id", "again", "--replace", "--watch")
    assert (tmp_path / "count").read_text() == "run\nrun\n"
    assert gonogo.record("again")["attempt"] == 2


def test_refused_submission_ends_with_4_and_makes_nothing(gonogo: Gonogo, tmp_path: Path) -> None:
    """The working directory vanishes after the suite: only the platform itself can refuse it."""
    work = tmp_path / "work"
    work.mkdir()
    job = gonogo.job(command="true", workdir=str(work))
    gonogo.ok("check", job, "--report", "go.json")
    work.rmdir()
    done = gonogo("launch", job, "--id", "refused", "--clearance", "go.json")
    assert done.status == 4, done.said
    assert f"{work} does not exist" in done.err
    assert not list(gonogo.state.glob("interactive/*"))
    status = gonogo("status", "refused")
    assert (status.status, status.out[:14]) == (1, "refused Error:"), status.said
    work.mkdir()
    gonogo.ok("launch", job, "--id", "refused", "--watch")


def test_harness_failure_is_one_redacted_line(gonogo: Gonogo, tmp_path: Path) -> None:
    canary = "canary-3f9a1c77d20b4e51"
    broken = tmp_path / "broken"
    (broken / "gonogo_breaker").mkdir(parents=True)
    (broken / "sitecustomize.py").write_text(
        "import gonogo.launcher.opening as opening\n\n\ndef broken(*_, **__):\n"
        f"    raise RuntimeError('it broke near {canary}\\nsecond line')\n\n\nopening.open_job = broken\n"
    )
    variables = {"PYTHONPATH": str(broken), "SOME_API_KEY": canary}
    done = gonogo("launch", gonogo.job(command="true"), **variables)
    assert done.status == 3, done.said
    assert "RuntimeError: it broke near [secret SOME_API_KEY]" in done.err
    assert "second line" not in done.err
    assert "Traceback" not in done.err
    told = gonogo("launch", gonogo.job(command="true"), GONOGO_DEBUG="1", **variables)
    assert told.status == 3
    assert "Traceback" in told.err
    assert canary not in done.err + told.err
