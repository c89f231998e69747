"""The life of a job on this node: started once, followed, stopped, found again."""

from __future__ import annotations

import json
import os
import shutil
import signal
import stat
import sys
import tempfile
from pathlib import Path

import lanes
import pytest
from interactive_jobs import Jobs, jobs, wait_for

from gonogo.platforms.contract import JobState
from gonogo.platforms.faults import LaunchRefused, NotFound, Refused
from gonogo.platforms.interactive import processes
from gonogo.platforms.interactive.runs import RunFolder
from gonogo.platforms.probe.preflight import build_preflight, parse_preflight
from gonogo.platforms.probe.questions import PathQuestion, WriteQuestion

__all__ = ["jobs"]
CANARY = "canary-7f3a9c-secret"
FOREVER = "echo started; while :; do sleep 0.1; done"


def facts(jobs: Jobs, native_id: str, name: str) -> processes.Process:
    process = RunFolder(jobs.platform.runs.directory / native_id).process(name)
    assert process is not None
    return process


@pytest.mark.parametrize(
    ("command", "state", "code"),
    [("exit 0", JobState.COMPLETE, 0), ("exit 3", JobState.ERROR, 3), (["false"], JobState.ERROR, 1)],
)
def test_exit_codes(jobs: Jobs, command: str | list[str], state: JobState, code: int) -> None:
    status, _ = jobs.run(command)
    assert (status.state, status.exit_code) == (state, code)


def test_missing_program_is_an_error_with_its_name(jobs: Jobs) -> None:
    status, output = jobs.run(["no-such-program", "--x"])
    assert (status.state, status.exit_code) == (JobState.ERROR, 127)
    assert "no-such-program" in status.reason
    assert "no-such-program" in output


def test_killed_job_says_so(jobs: Jobs) -> None:
    status, _ = jobs.run("kill -9 $$")
    assert (status.state, status.exit_code) == (JobState.ERROR, 137)
    assert status.reason.startswith("killed")
    status, _ = jobs.run(["sh", "-c", "kill -TERM $$"])
    assert (status.exit_code, status.reason) == (143, "ended by SIGTERM")


def test_output_is_in_order_and_whole(jobs: Jobs) -> None:
    _, output = jobs.run(
        "echo 'one ü'; echo two >&2; i=0; while [ $i -lt 3000 ]; do echo line-$i; i=$((i+1)); done; printf end"
    )
    assert output == "one ü\ntwo\n" + "".join(f"line-{index}\n" for index in range(3000)) + "end"


@pytest.mark.parametrize(("tail", "expected"), [(0, ""), (1, "d"), (2, "c\nd"), (9, "a\nb\nc\nd")])
def test_last_lines(jobs: Jobs, tail: int, expected: str) -> None:
    native_id = jobs.submit("printf 'a\\nb\\nc\\nd'")
    jobs.end(native_id)
    assert jobs.output(native_id, tail=tail) == expected


def test_following_ends_with_the_job_and_loses_nothing(jobs: Jobs) -> None:
    gate = jobs.directory / "gate"
    native_id = jobs.submit(f"echo first; while [ ! -e {gate} ]; do sleep 0.05; done; echo last; exit 4")
    stream = jobs.platform.logs(native_id, follow=True)
    seen = next(stream)
    assert jobs.platform.status(native_id).state is JobState.RUNNING
    gate.touch()
    assert seen + b"".join(stream) == b"first\nlast\n"
    assert jobs.end(native_id).exit_code == 4


def test_environment_is_exact_and_foreign_ranks_are_gone(jobs: Jobs, monkeypatch: pytest.MonkeyPatch) -> None:
    hostile = {"A": 'it\'s "x" $HOME `id` \\', "B": "two\nlines", "C": "ü 日本", "D": "", "WANDB_MODE": "offline"}
    for name in ("RANK", "WORLD_SIZE", "MASTER_ADDR", "LEPTON_AUTH_TOKEN", "GONOGO_STATE_DIR"):
        monkeypatch.setenv(name, "from-the-launcher")
    monkeypatch.setenv("HARMLESS", "kept")
    show = "import os, json; print(json.dumps(dict(os.environ)))"
    status, output = jobs.run([sys.executable, "-c", show], environment=hostile, secrets={"HF_TOKEN": CANARY})
    assert status.exit_code == 0, output
    seen = json.loads(output)
    assert {name: seen.get(name) for name in hostile} == hostile
    assert (seen["HF_TOKEN"], seen["HARMLESS"], seen["CUDA_VISIBLE_DEVICES"]) == (CANARY, "kept", "")
    assert seen["GONOGO_LAUNCH_ID"] == "job-0"
    assert not {"RANK", "WORLD_SIZE", "MASTER_ADDR", "LEPTON_AUTH_TOKEN", "GONOGO_STATE_DIR"} & set(seen)


def test_words_of_a_list_are_not_touched(jobs: Jobs) -> None:
    words = ["two words", "$HOME", "a'b\"c", "*", "", "x;y"]
    _, output = jobs.run(["printf", "<%s>\\n", *words])
    assert output.splitlines() == [f"<{word}>" for word in words]


def test_directory_input_and_session(jobs: Jobs) -> None:
    show = "import os, sys; print(os.getcwd(), repr(sys.stdin.read()), os.getsid(0) == os.getpid() == os.getpgrp())"
    _, output = jobs.run([sys.executable, "-c", show])
    assert output == f"{jobs.directory} '' True\n"


def test_several_processes_are_started_by_torchrun(jobs: Jobs, tmp_path: Path) -> None:
    """A stand-in for torchrun that shows what it was given."""
    (tmp_path / "bin").mkdir()
    torchrun = tmp_path / "bin" / "torchrun"
    torchrun.write_text('#!/bin/sh\necho "torchrun $*"\necho "$MASTER_ADDR $MASTER_PORT ${RANK-no rank}"\n')
    torchrun.chmod(0o755)
    path = {"PATH": f"{tmp_path}/bin:{os.environ['PATH']}"}
    options = "--nnodes 1 --nproc-per-node 4 --master-addr 127.0.0.1 --master-port 29511"
    _, output = jobs.run("python3 train.py --lr 1", processes=4, ports={"master": 29511}, environment=path)
    assert output == f"torchrun {options} train.py --lr 1\n127.0.0.1 29511 no rank\n"


def test_secrets_are_in_the_environment_only(jobs: Jobs) -> None:
    """Not in an argument vector, the run folder, or what is rendered."""
    submission = jobs.submission(FOREVER, secrets={"HF_TOKEN": CANARY})
    assert CANARY not in repr(submission)
    assert CANARY not in jobs.platform.render(submission)
    native_id = jobs.place(submission).native_id
    jobs.started(native_id)
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                assert CANARY.encode() not in (entry / "cmdline").read_bytes()
            except OSError:
                continue
    for file in jobs.platform.runs.directory.rglob("*"):
        assert not file.is_file() or CANARY.encode() not in file.read_bytes()
    supervisor = facts(jobs, native_id, "supervisor.json")
    assert CANARY.encode() not in Path(f"/proc/{supervisor.pid}/environ").read_bytes()


def test_run_folders_are_private(jobs: Jobs) -> None:
    native_id = jobs.submit("true")
    jobs.end(native_id)
    folder = jobs.platform.runs.directory
    assert [stat.S_IMODE(path.stat().st_mode) for path in (folder, folder / native_id)] == [0o700, 0o700]
    assert stat.S_IMODE((folder / native_id / "output.log").stat().st_mode) == 0o600


def test_render_shows_what_will_run(jobs: Jobs) -> None:
    text = jobs.platform.render(
        jobs.submission(f"train --key {CANARY}", environment={"A": "b c"}, secrets={"HF_TOKEN": CANARY}, preflight=b"x")
    )
    assert "export A='b c'" in text
    assert "export HF_TOKEN=***" in text
    assert f"cd {jobs.directory}" in text
    assert "train --key ***" in text
    assert "preflight" in text


def test_another_user(jobs: Jobs) -> None:
    lanes.require("root", "" if os.geteuid() == 0 else "this test changes to another user: run it as root")
    _, output = jobs.run("id -u; id -g; id -G", run_as="65534:65533", workdir="/")
    assert output.split() == ["65534", "65533", "65533"]


def test_questions_are_asked_as_the_jobs_user(jobs: Jobs) -> None:
    lanes.require("root", "" if os.geteuid() == 0 else "this test changes to another user: run it as root")
    jobs.platform.job = jobs.submission("true", run_as="65534:65534").job.model_copy(update={"workdir": None})
    folder = Path(tempfile.mkdtemp(prefix="gonogo-test-"))
    try:
        folder.chmod(0o755)
        (folder / "secret").touch(0o600)
        answers = jobs.platform.ask(
            [PathQuestion("secret", f"{folder}/secret"), WriteQuestion("folder", str(folder))], deadline=30
        )
    finally:
        shutil.rmtree(folder)
    assert (answers.path("secret").exists, answers.path("secret").readable) == (True, False)
    assert not answers.write("folder").created


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"command": ""}, "has no command"),
        ({"workdir": "/no/such/folder"}, "working directory /no/such/folder does not exist"),
        ({"launch_id": "../up"}, "cannot name a launch"),
    ],
)
def test_what_cannot_be_started_is_refused_and_leaves_nothing(jobs: Jobs, changes: dict[str, str], words: str) -> None:
    with pytest.raises(LaunchRefused, match=words):
        jobs.submit(**{"command": "true", **changes})
    assert not list(jobs.platform.runs.directory.glob("*"))


def test_failing_preflight_never_starts_the_command(jobs: Jobs) -> None:
    preflight = build_preflight([PathQuestion("there", "/"), PathQuestion("gone", "/no/such")], "n1")
    native_id = jobs.submit(f"echo ran; touch {jobs.directory}/ran", preflight=preflight, preflight_nonce="n1")
    status = jobs.end(native_id)
    assert (status.state, status.exit_code) == (JobState.ERROR, 97)
    assert "never started" in status.reason
    assert jobs.output(native_id) == ""
    assert not (jobs.directory / "ran").exists()
    result = parse_preflight(jobs.platform.arrival_output(native_id), "n1")
    assert (result.done, result.passed) == (True, False)
    assert [result.results[key][0] for key in ("there", "gone")] == [True, False]


@pytest.mark.parametrize("preflight", [b"exit 1\n", b"if\n", b"kill -9 $$\n"], ids=["fails", "syntax", "killed"])
def test_broken_preflight_never_starts_the_command(jobs: Jobs, preflight: bytes) -> None:
    status, output = jobs.run("echo ran", preflight=preflight)
    assert (status.state, status.exit_code, output) == (JobState.ERROR, 97, "")


def test_passing_preflight_is_invisible(jobs: Jobs) -> None:
    preflight = build_preflight([PathQuestion("there", "/")], "n1")
    status, output = jobs.run("echo ran; exit 5", preflight=preflight, preflight_nonce="n1")
    assert (status.exit_code, output) == (5, "ran\n")
    assert parse_preflight(jobs.platform.arrival_output("job-0"), "n1").passed


def test_cancel_stops_every_process(jobs: Jobs) -> None:
    """Also one in a session of its own, and one that ignores the polite signal."""
    stubborn = "trap '' TERM; echo started; while :; do sleep 0.1; done"
    native_id = jobs.submit(f'setsid sh -c "{stubborn}" & sleep 3600 & {stubborn}')
    wait_for(lambda: jobs.output(native_id).count("started") == 2, "both processes")
    marker = f"GONOGO_LAUNCH_ID={native_id}"
    before = processes.marked(marker)
    assert len(before) >= 3
    status = jobs.platform.cancel(native_id, grace=0.3)
    assert status.state is JobState.CANCELED
    assert not set(processes.marked(marker)) & set(before)
    assert jobs.platform.status(native_id) == status


def test_cancel_of_a_stopped_job(jobs: Jobs) -> None:
    native_id = jobs.submit(FOREVER)
    jobs.started(native_id)
    os.kill(facts(jobs, native_id, "command.json").pid, signal.SIGSTOP)
    wait_for(lambda: jobs.platform.status(native_id).state is JobState.PAUSED, "the state Paused")
    assert jobs.platform.cancel(native_id, grace=5.0).state is JobState.CANCELED


def test_cancel_of_an_ended_job_changes_nothing(jobs: Jobs) -> None:
    native_id = jobs.submit("exit 3")
    ended = jobs.end(native_id)
    assert jobs.platform.cancel(native_id) == ended


def test_cancel_during_the_preflight(jobs: Jobs) -> None:
    native_id = jobs.submit("echo ran", preflight=b"echo asked; while :; do sleep 0.1; done\n")
    wait_for(lambda: b"asked" in jobs.platform.arrival_output(native_id), "the preflight")
    assert jobs.platform.status(native_id).state is JobState.PENDING
    assert jobs.platform.cancel(native_id, grace=1.0).state is JobState.CANCELED
    assert jobs.output(native_id) == ""


def test_job_outlives_the_platform_object(jobs: Jobs) -> None:
    native_id = jobs.submit(FOREVER)
    jobs.started(native_id)
    later = type(jobs.platform)(jobs.platform.settings, None, jobs.platform.runs.directory.parent)
    found = later.find(native_id)
    assert found is not None
    assert later.status(found.native_id).state is JobState.RUNNING
    assert later.cancel(native_id, grace=1.0).state is JobState.CANCELED


def test_unknown_jobs_are_not_found(jobs: Jobs) -> None:
    assert jobs.platform.find("never") is None
    for ask in (jobs.platform.status, jobs.platform.cancel, jobs.platform.release, jobs.platform.logs):
        with pytest.raises(NotFound, match="no job never"):
            ask("never")


def test_release_removes_an_ended_job_only(jobs: Jobs) -> None:
    native_id = jobs.submit(FOREVER)
    with pytest.raises(Refused, match="still runs"):
        jobs.platform.release(native_id)
    jobs.platform.cancel(native_id, grace=0.0)
    jobs.platform.release(native_id)
    assert jobs.platform.find(native_id) is None
    assert not list(jobs.platform.runs.directory.iterdir())
    assert jobs.run("exit 6", launch_id=native_id)[0].exit_code == 6
