"""The suite on a daemon behind ssh: what it proves there, what it asks of the network, what it leaves."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from far_hosts import FarHost, Opener, gonogo
from services.dockerd import wait_until
from suite_runs import Finished, finish, job_text, run, start

from gonogo.jobs.model import Job
from gonogo.platforms.probe.questions import NodeQuestion, PathQuestion

IMAGE = "gonogo-test/busybox:1"


def check(folder: Path, far: FarHost, *options: str, url: str | None = None, **fields: object) -> Finished:
    job = job_text(**{"image": IMAGE, "gpus": 0, "docker": {"network": "none"}, **fields})
    return run(folder, *options, job=job, platform="remote-docker", DOCKER_HOST=url or far.url, PATH=far.lab.path)


@pytest.fixture
def far_folder(far_host: FarHost) -> Iterator[Path]:
    """A folder of the account on the daemon's host."""
    folder = far_host.ops.home / "results"
    folder.mkdir()
    os.chown(folder, *map(int, far_host.ops.ids.split(":")))
    yield folder
    for one in sorted(folder.rglob("*"), reverse=True):
        one.rmdir() if one.is_dir() else one.unlink()
    folder.rmdir()


def test_sound_job_is_go_over_one_connection(far_host: FarHost, far_folder: Path, tmp_path: Path) -> None:
    before, logins = far_host.daemon.inventory(), far_host.sshd.connections
    done = check(
        tmp_path,
        far_host,
        inputs=[{"name": "names", "uri": "/etc/hosts"}, {"name": "groups", "uri": "/etc/group"}],
        outputs=[{"name": "results", "uri": str(far_folder), "mount": "/results"}],
        run_as="submitter",
    )
    assert (done.status, done.verdict) == (0, "GO"), done.output
    assert far_host.sshd.connections == logins + 1
    assert f"logged in as {far_host.ops.name} ({far_host.ops.ids})" in done.row("CRED-07")["found"]
    assert done.report["target"]["address"] == far_host.url
    assert far_host.daemon.inventory() == before
    assert list(far_folder.iterdir()) == []


def test_numbers_are_the_accounts_own(far_host: FarHost, open_far: Opener) -> None:
    """This process is root, and whoever it is: only the daemon's host says who the account is there."""
    answers = open_far(far_host.url).ask([NodeQuestion()], deadline=10)
    assert f"{answers.node().uid}:{answers.node().gid}" == far_host.ops.ids
    job = Job(name="tiny", image=IMAGE, command="true", gpus=0, run_as=far_host.ops.ids)
    inside = open_far(far_host.url, job).ask_in_container([NodeQuestion()], deadline=20).answers.node()
    assert f"{inside.uid}:{inside.gid}" == far_host.ops.ids


def test_paths_are_asked_as_the_account_and_never_made(far_host: FarHost, open_far: Opener, tmp_path: Path) -> None:
    missing = f"/gonogo-no-such-folder-{os.getpid()}/results"
    done = check(
        tmp_path,
        far_host,
        run_as=far_host.ops.ids,
        inputs=[{"name": "gone", "uri": f"{missing}/set.json"}],
        outputs=[{"name": "results", "uri": missing, "mount": "/results"}],
    )
    done.broken(f"PATH-01[{missing}/set.json]", "does not exist", remedy="")
    assert not Path(missing).parent.exists()
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o700)
    (closed / "data.json").write_text("{}")
    answer = open_far(far_host.url).ask([PathQuestion("x", str(closed / "data.json"))], deadline=10).path("x")
    assert not answer.exists, "root on this machine sees it, the account there does not"


def test_remedy_runs_on_the_daemons_host(far_host: FarHost, tmp_path: Path) -> None:
    folder = far_host.ops.home / "not yet" / "results"
    fields: dict[str, object] = {"outputs": [{"name": "r", "uri": str(folder), "mount": "/r"}], "run_as": "submitter"}
    row = check(tmp_path, far_host, **fields).broken(
        f"PATH-02[{folder}]", "does not exist", remedy="ssh -t gpu-host 'mkdir -p "
    )
    subprocess.run(row["remedy"], shell=True, check=True, capture_output=True, stdin=subprocess.DEVNULL)
    assert f"{folder.stat().st_uid}:{folder.stat().st_gid}" == far_host.ops.ids
    done = check(tmp_path, far_host, **fields)
    assert done.verdict == "GO", done.output


def test_alias_with_a_jump(far_host: FarHost, tmp_path: Path) -> None:
    jump = far_host.lab.server("sshd-jump-2")
    far_host.alias("jump-2", server=jump)
    done = check(tmp_path, far_host, url=far_host.alias("behind-2", ProxyJump="jump-2"))
    assert done.verdict == "GO", done.output
    assert jump.connections == 1


def test_workers_share_the_connection(far_host: FarHost, tmp_path: Path) -> None:
    logins = far_host.sshd.connections
    done = check(tmp_path, far_host, "-n2", inputs=[{"name": "names", "uri": "/etc/hosts"}])
    assert done.verdict == "GO", done.output
    assert far_host.sshd.connections == logins + 1


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL], ids=["ctrl-c", "kill"])
def test_interrupted_check_leaves_nothing(far_host: FarHost, tmp_path: Path, number: int) -> None:
    """A frozen container keeps the run in its middle; after a kill one later run sweeps."""
    before = far_host.daemon.inventory()
    job = job_text(image=IMAGE, gpus=0, docker={"network": "none"}, outputs=[{"name": "r", "uri": str(tmp_path)}])
    process = start(tmp_path, job=job, platform="remote-docker", DOCKER_HOST=far_host.url, PATH=far_host.lab.path)
    calls = len(far_host.daemon.calls())
    wait_until(lambda: "POST /containers/create" in far_host.daemon.calls()[calls:], "a probe container")
    process.send_signal(number)
    finish(process, tmp_path)
    wait_until(lambda: not far_host.sshd.sessions(), "the connection to end")
    if number == signal.SIGKILL:
        assert check(tmp_path, far_host).verdict == "GO"
    assert far_host.daemon.inventory() == before


def test_broken_connection_is_one_cause(far_host: FarHost, tmp_path: Path) -> None:
    own = far_host.lab.server("sshd-break", SetEnv=f"DOCKER_HOST={far_host.daemon.url}")
    url = far_host.alias("break-host", server=own)
    job = job_text(image=IMAGE, gpus=0, docker={"network": "none"}, inputs=[{"name": "a", "uri": "/etc/hosts"}])
    process = start(tmp_path, job=job, platform="remote-docker", DOCKER_HOST=url, PATH=far_host.lab.path)
    wait_until(lambda: own.connections, "the login")
    own.stop()
    done = finish(process, tmp_path)
    assert done.verdict == "NO-GO"
    assert len(done.causes) == 1, (done.causes, done.output)
    assert "Traceback" not in done.output


def test_conformance(far_host: FarHost, tmp_path: Path) -> None:
    logins = far_host.sshd.connections
    out = gonogo(far_host, tmp_path, "conformance", "--platform=remote-docker", f"--docker-host={far_host.url}")
    assert out.startswith("GO")
    assert far_host.sshd.connections == logins + 1
