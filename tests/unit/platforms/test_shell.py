"""A shell on this node: bounded, and nothing of it is left."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path

import lanes
import pytest
from probe_asking import gone

from gonogo.platforms.faults import Denied, NotFound, TimedOut, ToolMissing
from gonogo.platforms.shell import Identity, LocalShell, ShellTimedOut

ROOT = "" if os.geteuid() == 0 else "this test changes to another user: run it as root"


def test_outputs_and_status_are_apart() -> None:
    shell = LocalShell()
    done = shell.run(b"echo out; echo err >&2; exit 7", deadline=30)
    assert (done.stdout, done.stderr, done.returncode) == (b"out\n", b"err\n", 7)
    assert shell.runs == 1


def test_large_program_and_large_outputs() -> None:
    program = b"#" + b"x" * 3_000_000 + b"\nhead -c 2000000 /dev/zero; head -c 1000000 /dev/zero >&2"
    done = LocalShell().run(program, deadline=60)
    assert (len(done.stdout), len(done.stderr), done.returncode) == (2_000_000, 1_000_000, 0)


def test_a_program_that_reads_no_further_is_no_error() -> None:
    assert LocalShell().run(b"exit 3\n" + b"#" * 3_000_000, deadline=60).returncode == 3


def test_end_by_signal_is_negative() -> None:
    assert LocalShell().run(b"kill -9 $$", deadline=30).returncode == -signal.SIGKILL


def test_time_up_names_program_and_target_and_ends_everything() -> None:
    program = b"sleep 3600 & echo $!; (sleep 3600) & echo $!; sleep 3600 & wait"
    with pytest.raises(ShellTimedOut, match=r"the disk probe on host-7 gave no answer within 0\.5 s") as caught:
        LocalShell("host-7").run(program, deadline=0.5, what="the disk probe")
    assert isinstance(caught.value, TimedOut)
    pids = [int(pid) for pid in caught.value.stdout.split()]
    assert len(pids) == 2
    assert all(gone(pid) for pid in pids)


def test_time_up_lets_a_trap_run_first(tmp_path: Path) -> None:
    program = f"touch {tmp_path}/left; trap 'rm {tmp_path}/left; exit 1' TERM; sleep 3600 & wait".encode()
    with pytest.raises(ShellTimedOut):
        LocalShell().run(program, deadline=0.5)
    assert list(tmp_path.iterdir()) == []


def test_a_program_that_ignores_the_polite_signal_is_killed() -> None:
    with pytest.raises(ShellTimedOut) as caught:
        LocalShell().run(b"trap '' TERM; echo $$; while :; do sleep 1; done", deadline=0.5)
    assert gone(int(caught.value.stdout))


def test_an_inherited_pipe_is_not_waited_for(tmp_path: Path) -> None:
    """A process in a session of its own holds the output open; the program's end counts. It is ended by this test."""
    program = f"setsid sleep 3600 & echo $! >{tmp_path}/pid; echo done".encode()
    done = LocalShell().run(program, deadline=30)
    assert done.stdout == b"done\n"
    for pid in _sleepers(int((tmp_path / "pid").read_text())):
        os.kill(pid, signal.SIGKILL)


def _sleepers(pid: int) -> list[int]:
    """setsid may have forked: the process itself, if it is still there."""
    return [pid] if Path(f"/proc/{pid}").exists() else []


def test_what_the_program_leaves_in_its_session_is_ended() -> None:
    done = LocalShell().run(b"sleep 3600 >/dev/null 2>&1 & echo $!", deadline=30)
    assert gone(int(done.stdout))


def test_environment_and_directory(tmp_path: Path) -> None:
    done = LocalShell().run(
        b'echo "$A"; pwd; env | wc -l', deadline=30, env={"A": "a'\n$", "PATH": "/usr/bin:/bin"}, cwd=str(tmp_path)
    )
    assert done.stdout.decode().startswith(f"a'\n$\n{tmp_path}\n")


def test_missing_directory_and_missing_shell_are_told_apart(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match=f"working directory {tmp_path}/none does not exist on host-7"):
        LocalShell("host-7").run(b"", deadline=5, cwd=f"{tmp_path}/none")
    with pytest.raises(ToolMissing, match="/no/sh is not there on host-7"):
        LocalShell("host-7", sh=("/no/sh",)).run(b"", deadline=5)


def test_another_user() -> None:
    lanes.require("root", ROOT)
    done = LocalShell().run(b"id -u; id -g; id -G", deadline=30, user=Identity(65534, 65533, (7,)))
    assert done.stdout.split() == [b"65534", b"65533", b"65533", b"7"]


def test_another_user_without_root_is_denied() -> None:
    def attempt() -> int:
        with pytest.raises(Denied, match="cannot be run as user"):
            LocalShell().run(b"true", deadline=5, user=Identity(1, 1))
        return 0

    assert as_nobody(attempt) == 0


def as_nobody(attempt: Callable[[], int]) -> int:
    """The attempt's answer in a child without root; in this process where it has none itself."""
    if os.geteuid() != 0:
        return attempt()
    child = os.fork()
    if child == 0:
        code = 99
        try:
            os.setresgid(65534, 65534, 65534)
            os.setresuid(65534, 65534, 65534)
            code = attempt()
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
