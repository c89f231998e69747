"""The probe container: one for all questions, in an image that can, and gone afterwards."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from services.docker_platforms import docker_platform
from services.dockerd import Dockerd, wait_until
from services.images import make_image, shell_less_tar

from gonogo.jobs.model import Job
from gonogo.platforms.docker.container import ProbeSpec, run_probe
from gonogo.platforms.faults import NotFound, TimedOut, ToolMissing
from gonogo.platforms.probe.questions import NodeQuestion, PathQuestion, SpaceQuestion, WriteQuestion

ODD_NAMES = ("comma, space 'quote' \"double\"", "new\nline", "dollar $HOME `id`", "--", "ü日本")


def job_as(user: str, image: str | None = None) -> Job:
    return Job(name="tiny", image=image, command="true", run_as=user)


@pytest.fixture
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that any user can reach."""
    path = tmp_path_factory.mktemp("data")
    for parent in (path, path.parent, path.parent.parent):
        parent.chmod(0o755)
    return path


class Started:
    """Containers created on a daemon while it is watched, counted by the daemon's own events."""

    def __init__(self, daemon: Dockerd) -> None:
        self._events = daemon.client().events(decode=True, filters={"type": "container"})
        self.names: list[str] = []
        self._thread = threading.Thread(target=self._collect, daemon=True)
        self._thread.start()

    def _collect(self) -> None:
        for event in self._events:
            if event["Action"] == "create":
                self.names.append(event["Actor"]["Attributes"]["name"])
            if event["Action"] == "create" and self.names[-1] == "last-of-all":
                return

    def finish(self, daemon: Dockerd) -> list[str]:
        """The names so far: a marker container tells that all events before it have come."""
        daemon.client().containers.create(daemon.busybox, name="last-of-all")
        self._thread.join(20)
        self._events.close()
        assert self.names[-1] == "last-of-all"
        return self.names[:-1]


def test_paths_are_seen_as_the_jobs_user_sees_them(docker_daemon: Dockerd, folder: Path) -> None:
    for name in ODD_NAMES:
        (folder / name).write_text("x")
    (folder / "secret").write_text("x")
    (folder / "secret").chmod(0o600)
    (folder / "ours").mkdir()
    os.chown(folder / "ours", 1234, 1234)
    (folder / "theirs").mkdir()
    started = Started(docker_daemon)
    platform = docker_platform(docker_daemon.url, job_as("1234:1234"))
    questions = [PathQuestion(name, str(folder / name), "file") for name in (*ODD_NAMES, "secret")]
    questions += [WriteQuestion("ours", str(folder / "ours")), WriteQuestion("theirs", str(folder / "theirs"))]
    questions += [NodeQuestion(), SpaceQuestion("space", str(folder / "ours"))]
    seen = platform.ask_in_container(questions, deadline=30).answers
    for name in ODD_NAMES:
        assert seen.path(name).readable, name
        assert seen.path(name).path == str(folder / name)
    assert seen.path("secret").exists
    assert not seen.path("secret").readable
    assert seen.write("ours").holds
    assert not seen.write("theirs").created
    assert str(folder / "theirs") in seen.write("theirs").directory
    assert ".gonogo" not in seen.write("theirs").message + seen.path("secret").message
    assert (seen.node().uid, seen.node().gid) == (1234, 1234)
    assert seen.node().shm_size == 16 * 2**30
    assert seen.node().stack == 67108864
    assert seen.space("space").free_bytes > 0
    assert list((folder / "ours").iterdir()) == []
    assert len(started.finish(docker_daemon)) == 1
    assert docker_daemon.client().containers.list(all=True, filters={"label": "gonogo.probe"}) == []
    platform.close()


def test_thousand_paths_take_one_container(docker_daemon: Dockerd, folder: Path) -> None:
    paths = [folder / f"file-{number}" for number in range(1000)]
    for path in paths:
        path.write_text("x")
    started = Started(docker_daemon)
    platform = docker_platform(docker_daemon.url, job_as("1234:1234"))
    seen = platform.ask_in_container([PathQuestion(str(path), str(path)) for path in paths], deadline=60).answers
    assert all(seen.path(str(path)).readable for path in paths)
    assert len(started.finish(docker_daemon)) == 1
    platform.close()


def test_missing_source_is_named_and_not_created(docker_daemon: Dockerd, folder: Path) -> None:
    platform = docker_platform(docker_daemon.url, job_as("1234:1234"))
    gone = folder / "gone"
    with pytest.raises(NotFound, match="gone does not exist on the daemon's host"):
        platform.ask_in_container([PathQuestion("gone", str(gone))], deadline=30)
    assert not gone.exists()
    platform.close()


def test_image_with_an_entrypoint_answers(docker_daemon: Dockerd, folder: Path) -> None:
    platform = docker_platform(docker_daemon.url, job_as("0:0", docker_daemon.entrypoint_image))
    seen = platform.ask_in_container([PathQuestion("folder", str(folder))], deadline=30)
    assert seen.answers.path("folder").kind == "directory"
    assert (seen.image, seen.own_image) == (docker_daemon.entrypoint_image, True)
    platform.close()


def test_job_image_without_a_shell_gives_way_to_another(docker_daemon: Dockerd, folder: Path) -> None:
    platform = docker_platform(docker_daemon.url, job_as("0:0", docker_daemon.shell_less_image))
    seen = platform.ask_in_container([PathQuestion("folder", str(folder))], deadline=30)
    assert seen.answers.path("folder").kind == "directory"
    assert seen.image != docker_daemon.shell_less_image
    assert not seen.own_image
    platform.close()


def test_smoke_image_without_a_shell_is_said(docker_daemon: Dockerd, folder: Path) -> None:
    platform = docker_platform(docker_daemon.url, job_as("0:0"), smoke_image=docker_daemon.shell_less_image)
    with pytest.raises(ToolMissing, match=f"smoke image {docker_daemon.shell_less_image} has no /bin/sh") as raised:
        platform.ask_in_container([PathQuestion("folder", str(folder))], deadline=30)
    assert "no such file or directory" in raised.value.detail
    assert "--help" not in raised.value.detail
    platform.close()


def test_program_is_found_without_a_shell(docker_daemon: Dockerd) -> None:
    platform = docker_platform(docker_daemon.url)
    image = docker_daemon.shell_less_image
    assert platform.program_in_image(image, "sleep") == "/bin/sleep"
    assert platform.program_in_image(image, "/bin/true") == "/bin/true"
    assert platform.program_in_image(image, "python") is None
    with pytest.raises(NotFound, match="is not on the target"):
        platform.program_in_image("nowhere.invalid/none:1", "sleep")
    assert docker_daemon.client().containers.list(all=True) == []
    platform.close()


def test_no_image_at_all_has_a_shell(docker_daemon: Dockerd, monkeypatch: pytest.MonkeyPatch) -> None:
    # The one image that is tried: smaller than all others, since it holds one program instead of two.
    make_image(docker_daemon.client(), "gonogo-test/tiny", shell_less_tar("bin/true"), [])
    monkeypatch.setattr("gonogo.platforms.docker.smoke._TRIES", 1)
    platform = docker_platform(docker_daemon.url, job_as("0:0"))
    with pytest.raises(ToolMissing, match="no image on the target has a shell"):
        platform.tiny_job_image()
    docker_daemon.client().images.remove("gonogo-test/tiny:1")
    platform.close()


def test_absent_smoke_image_names_the_pull(docker_daemon: Dockerd) -> None:
    platform = docker_platform(docker_daemon.url, job_as("0:0"), smoke_image="nowhere.invalid/none:1")
    with pytest.raises(ToolMissing, match=r"smoke image nowhere\.invalid/none:1 is not on the target") as raised:
        platform.ask_in_container([NodeQuestion()], deadline=30)
    assert "docker pull nowhere.invalid/none:1" in raised.value.remedy
    platform.close()


def test_hung_program_is_named_and_removed(docker_daemon: Dockerd) -> None:
    platform = docker_platform(docker_daemon.url)
    spec = ProbeSpec(image=docker_daemon.busybox, program=b"sleep 600\n")
    with pytest.raises(TimedOut, match="the sleeping probe in a container on unix://"):
        run_probe(platform.connection, spec, run_id="r", deadline=2.0, what="the sleeping probe")
    assert docker_daemon.client().containers.list(all=True) == []
    platform.close()


def test_output_and_status_come_back_whole(docker_daemon: Dockerd) -> None:
    platform = docker_platform(docker_daemon.url)
    program = (
        b"i=0; while [ $i -lt 20000 ]; do echo line $i; i=$((i+1)); done; echo oops >&2; exit 7\n"
        + b"# filler\n" * 200_000
    )
    spec = ProbeSpec(image=docker_daemon.busybox, program=program)
    done = run_probe(platform.connection, spec, run_id="r", deadline=60.0, what="a long answer")
    assert done.stdout.splitlines()[-1] == b"line 19999"
    assert len(done.stdout.splitlines()) == 20000
    assert (done.stderr, done.returncode) == (b"oops\n", 7)
    platform.close()


def test_sweep_takes_only_dead_runs(docker_daemon: Dockerd) -> None:
    script = (
        "from services.docker_platforms import docker_platform\n"
        "from gonogo.platforms.docker.container import ProbeSpec, run_probe\n"
        f"platform = docker_platform({docker_daemon.url!r})\n"
        f"spec = ProbeSpec(image={docker_daemon.busybox!r}, program=b'sleep 600\\n')\n"
        "run_probe(platform.connection, spec, run_id='other', deadline=600.0, what='sleep')\n"
    )
    client = docker_daemon.client()
    child = subprocess.Popen(
        [sys.executable, "-c", script], env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    )
    try:
        wait_until(lambda: client.containers.list(filters={"label": "gonogo.run=other"}), "the child's probe container")
        client.containers.create(docker_daemon.busybox, name="foreign", labels={"somebody": "else"})
        platform = docker_platform(docker_daemon.url)
        assert platform.sweep() == []
        assert platform.sweep("ours") == []
        child.send_signal(signal.SIGKILL)
        child.wait()
        removed = platform.sweep()
        assert [name.startswith("gonogo-probe-other-") for name in removed] == [True]
        assert [one.name for one in client.containers.list(all=True)] == ["foreign"]
        platform.close()
    finally:
        child.kill()
        child.wait()


def test_interrupted_probe_is_removed(docker_daemon: Dockerd) -> None:
    script = (
        "from services.docker_platforms import docker_platform\n"
        "from gonogo.platforms.docker.container import ProbeSpec, run_probe\n"
        f"platform = docker_platform({docker_daemon.url!r})\n"
        f"spec = ProbeSpec(image={docker_daemon.busybox!r}, program=b'sleep 600\\n')\n"
        "run_probe(platform.connection, spec, run_id='cut', deadline=600.0, what='sleep')\n"
    )
    client = docker_daemon.client()
    child = subprocess.Popen(
        [sys.executable, "-c", script],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        stderr=subprocess.DEVNULL,
    )
    wait_until(lambda: client.containers.list(filters={"label": "gonogo.run=cut"}), "the child's probe container")
    child.send_signal(signal.SIGINT)
    child.wait(30)
    assert client.containers.list(all=True) == []
