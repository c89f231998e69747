"""We are let in, and the daemon cannot be had all the same: one fault each, with a command that runs from here."""

from __future__ import annotations

import shutil
import socket
import subprocess
import time
from pathlib import Path

import pytest
from far_hosts import FarHost, Opener
from services.dockerd import Dockerd
from suite_runs import Finished, job_text, run

from gonogo.platforms.faults import Denied, Fault, NotFound, Refused, Unreachable

PATHS = ["/etc/hosts", "/etc/group", "/etc/passwd"]
JOB = job_text(
    image="gonogo-test/busybox:1",
    gpus=0,
    inputs=[{"name": f"input-{number}", "uri": path} for number, path in enumerate(PATHS)],
)
#: What the issue asks of a target that is silent, with three paths and default options.
SILENCE_SECONDS = 25.0


def daemon_fault(open_far: Opener, url: str | None) -> Fault:
    with pytest.raises(Fault) as caught:
        open_far(url).daemon_info()
    return caught.value


def check(folder: Path, far: FarHost, url: str) -> Finished:
    return run(folder, job=JOB, platform="remote-docker", DOCKER_HOST=url, PATH=far.lab.path)


def demand_one_cause(done: Finished, row: str) -> None:
    assert done.causes == [row], (done.causes, done.output)
    done.blocked("DOCK-02", "DOCK-03", "DOCK-04", "JOB-10", *(f"PATH-01[{path}]" for path in PATHS), by=row)
    assert "Traceback" not in done.output


def test_account_without_docker_rights(far_host: FarHost, tmp_path: Path) -> None:
    done = check(tmp_path, far_host, far_host.alias("no-rights", far_host.plain))
    name = far_host.plain.name
    row = done.broken("DOCK-01", f"the account {name} on no-rights may not open", remedy=f"usermod -aG docker {name}")
    assert row["remedy"].startswith("ssh -t no-rights ")
    assert "root docker" in done.detail("DOCK-01")
    done.fine("CRED-07")
    demand_one_cause(done, "DOCK-01")


def test_unknown_host_is_one_cause(far_host: FarHost, tmp_path: Path) -> None:
    done = check(tmp_path, far_host, "ssh://no-such-host.invalid")
    done.broken("CRED-07", "the ssh host no-such-host.invalid is unknown", remedy="HostName")
    done.blocked("DOCK-01", by="CRED-07")
    demand_one_cause(done, "CRED-07")


def test_silent_host_is_one_cause_in_time(far_host: FarHost, tmp_path: Path, silent_port: int) -> None:
    began = time.monotonic()
    done = check(tmp_path, far_host, f"ssh://ml@127.0.0.1:{silent_port}")
    took = time.monotonic() - began
    done.broken("CRED-07", "sent no ssh greeting", remedy="sshd is silent", state="unverified")
    demand_one_cause(done, "CRED-07")
    assert took < SILENCE_SECONDS, "the bound that is promised to users, start of the interpreter included"


def test_remote_platform_demands_a_remote_address(far_host: FarHost, docker_daemon: Dockerd, tmp_path: Path) -> None:
    for url, words in (("", "and none is given"), (docker_daemon.url, "runs on this machine")):
        done = check(tmp_path, far_host, url)
        done.broken("DOCK-01", words, remedy="--docker-host ssh://USER@HOST")
        demand_one_cause(done, "DOCK-01")


def test_local_platform_refuses_a_remote_address(far_host: FarHost, tmp_path: Path) -> None:
    done = run(tmp_path, job=JOB, platform="local-docker", DOCKER_HOST=far_host.url, PATH=far_host.lab.path)
    done.broken("DOCK-01", "is not a daemon of this machine", remedy="--platform remote-docker")


def test_frozen_daemon_is_one_cause_in_time(own_far_daemon: FarHost, tmp_path: Path) -> None:
    began = time.monotonic()
    with own_far_daemon.daemon.frozen():
        done = check(tmp_path, own_far_daemon, own_far_daemon.url)
    took = time.monotonic() - began
    row = done.broken("DOCK-01", "gave no answer within", remedy="systemctl restart docker", state="unverified")
    assert row["remedy"] == "ssh -t own-host 'sudo systemctl restart docker'"
    done.fine("CRED-07")
    demand_one_cause(done, "DOCK-01")
    assert took < SILENCE_SECONDS


def test_stopped_daemon(own_far_daemon: FarHost, far_host: FarHost, open_far: Opener) -> None:
    own_far_daemon.daemon.stop()
    try:
        fault = daemon_fault(open_far, own_far_daemon.url)
    finally:
        own_far_daemon.daemon.start()
    assert isinstance(fault, Unreachable)
    assert "the Docker daemon on own-host does not run: there is no socket" in fault.message
    assert fault.remedy == "ssh -t own-host 'sudo systemctl start docker'"


def test_socket_that_nobody_listens_at(far_host: FarHost, open_far: Opener, tmp_path: Path) -> None:
    folder = far_host.lab.folder / "left"
    folder.mkdir()
    path = folder / "docker.sock"
    with socket.socket(socket.AF_UNIX) as left_behind:
        left_behind.bind(str(path))
    path.chmod(0o666)
    fault = daemon_fault(open_far, f"{far_host.url}{path}")
    assert isinstance(fault, Refused)
    assert f"nobody listens at its socket {path}" in fault.message
    assert "refused" in fault.detail


def test_no_docker_on_the_host(far_host: FarHost, open_far: Opener) -> None:
    bare = far_host.lab.folder / "bare-bin"
    bare.mkdir()
    for program in ("sh", "id", "ls", "sed"):
        (bare / program).symlink_to(shutil.which(program) or program)
    bare_host = far_host.lab.server("sshd-bare", SetEnv=f"PATH={bare}")
    fault = daemon_fault(open_far, far_host.alias("bare-host", server=bare_host) + "/nowhere/docker.sock")
    assert isinstance(fault, NotFound)
    assert "there is no Docker on bare-host: no docker command and no socket /nowhere/docker.sock" in fault.message


def test_socket_of_a_daemon_elsewhere(far_host: FarHost, open_far: Opener) -> None:
    beyond = far_host.lab.server("sshd-beyond", SetEnv="DOCKER_HOST=tcp://10.0.0.9:2375")
    fault = daemon_fault(open_far, far_host.alias("beyond-host", server=beyond))
    assert isinstance(fault, Refused)
    assert "DOCKER_HOST of the account names is tcp://10.0.0.9:2375, which is no socket" in fault.message


def test_forbidden_forwarding_is_relayed_and_said(far_host: FarHost, tmp_path: Path) -> None:
    closed = far_host.lab.server(
        "sshd-closed", SetEnv=f"DOCKER_HOST={far_host.daemon.url}", AllowStreamLocalForwarding="no"
    )
    done = check(tmp_path, far_host, far_host.alias("closed-host", server=closed))
    assert done.verdict == "GO", done.output
    ways = [one["text"] for one in done.row("DOCK-01")["evidence"] if one["name"] == "way"]
    assert ways == [
        f"ssh, {far_host.daemon.socket} by `docker system dial-stdio`: sshd forbids the forwarding of sockets"
    ]
    assert closed.connections == 1


def test_forbidden_forwarding_and_nothing_to_stand_in(far_host: FarHost, open_far: Opener) -> None:
    bare = far_host.lab.folder / "bare-bin-2"
    bare.mkdir()
    for program in ("sh", "id", "ls", "sed"):
        (bare / program).symlink_to(shutil.which(program) or program)
    shut = far_host.lab.server("sshd-shut", SetEnv=f"PATH={bare}", AllowStreamLocalForwarding="no")
    fault = daemon_fault(open_far, far_host.alias("shut-host", server=shut) + str(far_host.daemon.socket))
    assert isinstance(fault, Refused)
    assert "nobody listens there, or sshd forbids the forwarding of sockets" in fault.message
    assert "AllowStreamLocalForwarding yes" in fault.remedy


def test_remedy_for_a_missing_right_is_the_right_one(far_host: FarHost, open_far: Opener) -> None:
    """What the remedy says, done by root here: from the next login on the account may open the socket."""
    url = far_host.alias("no-rights-yet", far_host.plain)
    fault = daemon_fault(open_far, url)
    assert isinstance(fault, Denied)
    command = fault.remedy.removeprefix("ssh -t no-rights-yet ").strip("'").removeprefix("sudo ")
    try:
        subprocess.run(command.split(), check=True)
        assert open_far(url).daemon_info().id
    finally:
        subprocess.run(["gpasswd", "-d", far_host.plain.name, "docker"], check=True, capture_output=True)
