"""The one connection: whatever the user's configuration says, however the process ends, and when it breaks."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from far_hosts import FarHost, Opener
from services.dockerd import wait_until
from services.sshd import Sshd

from gonogo.platforms.docker.door import SshDoor
from gonogo.platforms.faults import ConnectionLost, Fault, TimedOut
from gonogo.platforms.ssh import folders
from gonogo.platforms.ssh.address import parse_address
from gonogo.platforms.ssh.master import Master

#: Connects, prints the folder of the connection, and waits for ever.
PROGRAM = """
import sys, threading
from gonogo.platforms.ssh.address import parse_address
from gonogo.platforms.ssh.link import Link
link = Link(parse_address(sys.argv[1]))
print(link.master().folder, flush=True)
try:
    threading.Event().wait()
except KeyboardInterrupt:
    sys.exit(130)
"""


def processes_with(text: str) -> list[int]:
    """PIDs of the processes that have the text among their arguments."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            try:
                arguments = (entry / "cmdline").read_bytes().decode(errors="replace")
            except OSError:
                continue
            if text in arguments:
                found.append(int(entry.name))
    return found


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT], ids=["kill", "term", "ctrl-c"])
def test_nothing_is_left_however_the_process_ends(far_host: FarHost, number: int) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM, far_host.url], stdout=subprocess.PIPE, text=True, env={**os.environ}
    ) as process:
        try:
            assert process.stdout is not None
            folder = Path(process.stdout.readline().strip())
            assert folder.stat().st_mode & 0o777 == 0o700
            assert processes_with(str(folder)), "the connection stands"
        finally:
            process.send_signal(number)
            process.wait(10)
    wait_until(lambda: not folder.exists(), "the folder to be removed")
    wait_until(lambda: not processes_with(str(folder)), "ssh to end")


def test_folder_of_a_machine_that_lost_power_is_swept(far_host: FarHost, tmp_path: Path) -> None:
    dead, lock = folders.private_folder()
    (dead / "c").touch()
    os.close(lock)  # as the kernel does for a process that is gone
    live, held = folders.private_folder()
    try:
        assert not dead.exists()
        folders.sweep(live.parent)
        assert live.exists()
    finally:
        os.close(held)
        (live / "lock").unlink()
        live.rmdir()


def test_hundred_calls_and_commands_are_one_connection(far_host: FarHost, open_far: Opener) -> None:
    before = far_host.sshd.connections
    platform = open_far(far_host.url)
    for _ in range(20):
        assert platform.login() is not None
        assert platform.daemon_info().id
        assert platform.host.run(b"echo yes\n", deadline=5).stdout == b"yes\n"
    assert far_host.sshd.connections == before + 1


def test_configuration_of_an_interactive_user_does_no_harm(
    far_host: FarHost, open_far: Opener, refused_port: int
) -> None:
    """Sharing, terminals, commands, forwardings and agents that people set for themselves."""
    url = far_host.alias(
        "busy-config",
        ControlMaster="auto",
        ControlPath=str(far_host.lab.folder / "theirs-%C"),
        ControlPersist="60",
        RequestTTY="force",
        RemoteCommand="tmux attach",
        LocalForward=f"127.0.0.1:{refused_port} 127.0.0.1:1",
        ForwardAgent="yes",
        LogLevel="QUIET",
        PermitLocalCommand="yes",
        LocalCommand=f"touch {far_host.lab.folder}/local-command",
    )
    assert open_far(url).daemon_info().id
    assert not list(far_host.lab.folder.glob("theirs-*"))
    assert not (far_host.lab.folder / "local-command").exists()


def test_proxy_jump_works_with_no_option_of_ours(far_host: FarHost, open_far: Opener) -> None:
    jump = far_host.lab.server("sshd-jump")
    far_host.alias("jump-host", server=jump)
    before = far_host.sshd.connections
    platform = open_far(far_host.alias("behind-jump", ProxyJump="jump-host"))
    assert platform.daemon_info().id
    assert (jump.connections, far_host.sshd.connections) == (1, before + 1)


def test_user_and_port_of_the_url(far_host: FarHost, open_far: Opener) -> None:
    far_host.lab.host("127.0.0.1")
    login = open_far(f"ssh://{far_host.ops.name}@127.0.0.1:{far_host.sshd.port}").login()
    assert login is not None
    assert login.shown == f"{far_host.ops.name} ({far_host.ops.ids})"


def test_a_broken_connection_is_named_and_made_anew(far_host: FarHost) -> None:
    own: Sshd = far_host.lab.server("sshd-drop", SetEnv=f"DOCKER_HOST={far_host.daemon.url}")
    door = SshDoor(parse_address(far_host.alias("drop-host", server=own)))
    try:
        first = door.url()
        own.end_sessions()
        wait_until(lambda: door.link.broken(), "ssh to notice")
        lost = door.explain(Fault("the daemon closed the connection"))
        assert isinstance(lost, ConnectionLost)
        assert "the ssh connection to ssh://drop-host was lost" in lost.message
        assert door.url() != first
        assert own.connections == 2
    finally:
        door.close()


def test_a_host_that_falls_silent_is_told_from_its_daemon(far_host: FarHost) -> None:
    own = far_host.lab.server("sshd-mute", SetEnv=f"DOCKER_HOST={far_host.daemon.url}")
    door = SshDoor(parse_address(far_host.alias("mute-host", server=own)))
    silence = TimedOut("the Docker daemon gave no answer")
    try:
        door.url()
        assert door.explain(silence) is silence, "the host answers: it is the daemon"
        stopped = own.sessions()
        for pid in stopped:
            os.kill(pid, signal.SIGSTOP)
        lost = door.explain(silence)
        for pid in stopped:
            os.kill(pid, signal.SIGCONT)
    finally:
        door.close()
    assert isinstance(lost, ConnectionLost)
    assert "mute-host itself does not answer any more" in lost.message


def test_a_program_whose_connection_breaks_is_told_so(far_host: FarHost) -> None:
    own = far_host.lab.server("sshd-cut")
    door = SshDoor(parse_address(far_host.alias("cut-host", server=own)))
    try:
        door.account()
        with pytest.raises(ConnectionLost, match="cut-host was lost"):
            door.shell.run(b"kill -9 $(ps -o ppid= -p $PPID)\nkill -9 $PPID; sleep 60\n", deadline=20)
    finally:
        door.close()


def test_more_programs_than_sessions_wait_for_their_turn(far_host: FarHost) -> None:
    few = far_host.lab.server("sshd-few", MaxSessions="1")
    door = SshDoor(parse_address(far_host.alias("few-host", server=few)))
    from concurrent.futures import ThreadPoolExecutor

    try:
        with ThreadPoolExecutor(4) as pool:
            done = list(pool.map(lambda _: door.shell.run(b"echo $$\n", deadline=20), range(6)))
        assert all(one.returncode == 0 and one.stdout.strip().isdigit() for one in done)
        assert few.connections == 1
    finally:
        door.close()


def test_socket_paths_stay_below_the_limit(far_host: FarHost, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    deep = tmp_path / ("d" * 80)
    deep.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(deep))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(deep))
    master = Master(parse_address(far_host.url))
    try:
        master.open()
        assert len(str(master.control)) + 17 < 108
    finally:
        master.close()


def test_login_that_fails_is_not_hammered_at(far_host: FarHost, refused_port: int) -> None:
    door = SshDoor(parse_address(f"ssh://127.0.0.1:{refused_port}"))
    for _ in range(5):
        with pytest.raises(Fault):
            door.account()
    assert door.link.logins == 1
