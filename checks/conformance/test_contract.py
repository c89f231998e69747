"""CONF: what every platform adapter promises, shown by tiny real jobs."""

from __future__ import annotations

import threading

from gonogo.fixtures.outcomes import Notes
from gonogo.fixtures.requirement import requirement
from gonogo.fixtures.tiny_jobs import TinyJobs
from gonogo.platforms.contract import JobState
from gonogo.platforms.faults import Fault, NotFound
from gonogo.platforms.probe.preflight import build_preflight
from gonogo.platforms.probe.questions import PathQuestion

HOSTILE = {
    "PLAIN": "value",
    "SPACES": "  two  spaces  ",
    "QUOTES": """it's "quoted" `so`""",
    "DOLLAR": "$HOME ${PATH} $(id)",
    "PERCENT": "100% %s %(x)s",
    "NEWLINE": "first\nsecond",
    "UNICODE": "日本語 – ü",
    "BACKSLASH": "a\\nb\\",
    "EMPTY": "",
}


@requirement("CONF-01")
def test_job_is_found_by_its_launch_id(tiny_jobs: TinyJobs, evidence: Notes) -> None:
    """The platform gives back the same job for the launch ID, and none for an ID that was never launched."""
    job = tiny_jobs.run("true")
    found = tiny_jobs.platform.find(job.submission.launch_id)
    evidence(found=found.native_id if found else None, expected=job.placed.native_id)
    assert found is not None, f"the platform does not find launch {job.submission.launch_id}"
    assert found.native_id == job.placed.native_id, "another job answers to this launch ID"
    assert tiny_jobs.platform.find("conf-never-launched") is None, "a job answers to an ID that was never launched"


@requirement("CONF-02")
def test_states_come_in_order(tiny_jobs: TinyJobs, evidence: Notes) -> None:
    """Pending and Running come before Complete, and the exit code is 0."""
    job = tiny_jobs.run("sleep 1; exit 0")
    states = [status.state for status in job.seen]
    evidence(found=" -> ".join(state.value for state in states), expected="Pending -> Running -> Complete")
    order = [JobState.PENDING, JobState.RUNNING, JobState.COMPLETE]
    assert states == [state for state in order if state in states], (
        f"states came as {[state.value for state in states]}"
    )
    assert JobState.RUNNING in states, "the job was never seen Running"
    assert job.seen[-1].exit_code == 0, f"exit code {job.seen[-1].exit_code}, expected 0"


@requirement("CONF-03")
def test_failure_keeps_its_exit_code(tiny_jobs: TinyJobs, evidence: Notes) -> None:
    """A job that exits 7 ends in Error with exit code 7."""
    status = tiny_jobs.run("exit 7").seen[-1]
    evidence(found=f"{status.state.value}, exit code {status.exit_code}", expected="Error, exit code 7")
    assert (status.state, status.exit_code) == (JobState.ERROR, 7), (
        f"ended {status.state.value} with exit code {status.exit_code}"
    )


@requirement("CONF-04")
def test_log_is_complete_and_in_order(tiny_jobs: TinyJobs, evidence: Notes) -> None:
    """Both streams, unicode and 2,000 numbered lines come back in order."""
    job = tiny_jobs.run(
        "echo 'first ü'; echo 'second 日本' >&2; i=0; "
        "while [ $i -lt 2000 ]; do echo line-$i; i=$((i+1)); done; echo last"
    )
    lines = job.output().decode().splitlines()
    expected = {"first ü", "second 日本", "last"} | {f"line-{number}" for number in range(2000)}
    missing = sorted(expected - set(lines))
    numbered = [line for line in lines if line.startswith("line-")]
    evidence(found=f"{len(lines)} lines", expected=f"{len(expected)} lines")
    assert not missing, f"{len(missing)} lines are missing, the first is {missing[0]!r}"
    assert numbered == [f"line-{number}" for number in range(2000)], "the lines are not in order"
    assert lines[-1] == "last", f"the last line is {lines[-1]!r}"


@requirement("CONF-05")
def test_last_lines_of_a_log(tiny_jobs: TinyJobs, evidence: Notes) -> None:
    """Asked for the last three lines, the log gives those and no others."""
    job = tiny_jobs.run("for i in 1 2 3 4 5 6; do echo n$i; done")
    tail = job.output(tail=3).decode().split()
    evidence(found=" ".join(tail), expected="n4 n5 n6")
    assert tail == ["n4", "n5", "n6"], f"the last three lines came as {tail}"


@requirement("CONF-06")
def test_environment_is_exact(tiny_jobs: TinyJobs, evidence: Notes) -> None:
    """Each variable arrives byte for byte, also with quotes, newlines, dollar signs and unicode."""
    show = "; ".join(f"printf '%s=<%s>\\n' {name} \"${name}\"" for name in HOSTILE)
    output = tiny_jobs.run(show, environment=HOSTILE).output().decode()
    wrong = [name for name, value in HOSTILE.items() if f"{name}=<{value}>\n" not in output]
    evidence(
        found=f"{len(HOSTILE) - len(wrong)} of {len(HOSTILE)} exact", expected=f"{len(HOSTILE)} of {len(HOSTILE)} exact"
    )
    assert not wrong, f"{', '.join(wrong)} did not arrive exactly"


@requirement("CONF-07")
def test_list_command_is_not_split(tiny_jobs: TinyJobs, evidence: Notes) -> None:
    """The words of a list reach the program as they are: no shell splits or expands them."""
    words = ["two words", "$HOME", "a'b\"c", "*", ""]
    output = tiny_jobs.run(["printf", "<%s>\\n", *words]).output().decode().splitlines()
    evidence(found=" ".join(output), expected=" ".join(f"<{word}>" for word in words))
    assert output == [f"<{word}>" for word in words], f"the words came as {output}"


@requirement("CONF-08")
def test_cancel_stops_the_job(tiny_jobs: TinyJobs, evidence: Notes) -> None:
    """A running job is stopped by cancel, is reported Canceled, and prints nothing more."""
    job = tiny_jobs.submit(tiny_jobs.submission("i=0; while :; do echo n$i; i=$((i+1)); sleep 0.1; done"))
    job.begun()
    status = tiny_jobs.platform.cancel(job.placed.native_id, grace=2.0)
    evidence(found=f"{status.state.value} ({status.native})", expected="Canceled")
    assert status.state is JobState.CANCELED, f"after cancel the job is {status.state.value}"
    after = tiny_jobs.platform.status(job.placed.native_id).state
    assert after.ended, f"after cancel the platform says {after.value}"
    printed = job.output()
    threading.Event().wait(0.5)  # several times the pause between two lines
    assert job.output() == printed, "the job went on printing after cancel"


@requirement("CONF-09")
def test_launch_id_makes_one_job(tiny_jobs: TinyJobs, evidence: Notes) -> None:
    """Of two submissions at the same instant under one launch ID, one makes a job; the other is refused or led to
    it."""
    submission = tiny_jobs.submission("sleep 2")
    placed: list[str] = []
    refused: list[str] = []

    def submit() -> None:
        try:
            placed.append(tiny_jobs.submit(submission).placed.native_id)
        except Fault as fault:
            refused.append(fault.message)

    threads = [threading.Thread(target=submit) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=30)
    evidence(
        found=f"{len(set(placed))} job, {len(refused)} refused", expected="1 job", refusal="; ".join(refused) or None
    )
    assert len(placed) + len(refused) == 2, "a submission did not come back within 30 s"
    assert len(set(placed)) == 1, f"{len(set(placed))} jobs were made under one launch ID"


@requirement("CONF-10")
def test_signal_is_told(tiny_jobs: TinyJobs, evidence: Notes) -> None:
    """A job that is killed by SIGKILL ends in Error with exit code 137."""
    status = tiny_jobs.run("sh -c 'kill -9 $$'; exit $?").seen[-1]
    evidence(found=f"{status.state.value}, exit code {status.exit_code}", expected="Error, exit code 137")
    assert (status.state, status.exit_code) == (JobState.ERROR, 137), (
        f"ended {status.state.value} with exit code {status.exit_code}"
    )


@requirement("CONF-11")
def test_failing_preflight_never_starts_the_command(tiny_jobs: TinyJobs, evidence: Notes) -> None:
    """With a preflight that asks for a path which is not there, the command's first line never appears."""
    nonce = "conf-fails"
    preflight = build_preflight([PathQuestion("missing", "/gonogo/no/such/path")], nonce)
    job = tiny_jobs.run("echo the-command-started", preflight=preflight, nonce=nonce)
    evidence(
        found=f"{job.seen[-1].state.value}, exit code {job.seen[-1].exit_code}",
        expected="Error, the command not started",
    )
    assert b"the-command-started" not in job.output(), "the command started although its preflight failed"
    assert job.seen[-1].state is JobState.ERROR, f"the job ended {job.seen[-1].state.value}"


@requirement("CONF-12")
def test_passing_preflight_is_invisible(tiny_jobs: TinyJobs, evidence: Notes) -> None:
    """With a preflight that passes, the command runs and its exit code is the job's."""
    nonce = "conf-passes"
    preflight = build_preflight([PathQuestion("root", "/")], nonce)
    job = tiny_jobs.run("echo the-command-started; exit 5", preflight=preflight, nonce=nonce)
    evidence(found=f"exit code {job.seen[-1].exit_code}", expected="exit code 5")
    assert b"the-command-started" in job.output(), "the command did not start although its preflight passed"
    assert job.seen[-1].exit_code == 5, f"exit code {job.seen[-1].exit_code}, expected 5"


@requirement("CONF-13")
def test_release_leaves_nothing(tiny_jobs: TinyJobs, evidence: Notes) -> None:
    """A released job is not found any more, neither by its launch ID nor by the platform's own."""
    job = tiny_jobs.run("true")
    tiny_jobs.platform.release(job.placed.native_id)
    found = tiny_jobs.platform.find(job.submission.launch_id)
    evidence(found=found.native_id if found else "nothing", expected="nothing")
    assert found is None, f"{found.native_id} is still there after release"
    try:
        status = tiny_jobs.platform.status(job.placed.native_id)
    except NotFound:
        return
    raise AssertionError(f"the platform still reports {status.state.value} for a released job")
