"""What a run makes on a daemon is gone when it ends, however it ends; with workers it asks no more than without."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

import pytest
from services.dockerd import Dockerd, wait_until
from services.images import make_image, shell_that_runs
from suite_runs import finish, job_text, run, start, states


def job_of(daemon: Dockerd, *paths: str, **fields: object) -> str:
    inputs = [{"name": f"input-{number}", "uri": path} for number, path in enumerate(paths)]
    return job_text(**{"image": daemon.busybox, "run_as": "65534:65534", "inputs": inputs, **fields})


@pytest.fixture
def results(tmp_path: Path) -> Path:
    """A folder that the job's user owns, below others that it may pass through."""
    for parent in (tmp_path, tmp_path.parent, tmp_path.parent.parent):
        parent.chmod(0o755)
    folder = tmp_path / "results"
    folder.mkdir()
    os.chown(folder, 65534, 65534)
    return folder


def test_nothing_is_left_by_runs_of_every_ending(tmp_path: Path, docker_daemon: Dockerd, results: Path) -> None:
    client = docker_daemon.client()
    client.containers.create(docker_daemon.busybox, name="somebodys", network_mode="none")
    before = docker_daemon.inventory()
    outputs = [{"name": "results", "uri": str(results), "mount": "/results"}]
    for options, paths, verdict in (
        ((), ["/etc/hosts"], "GO"),
        ((), ["/no/such"], "NO-GO"),
        (("-x",), ["/no/such", "/etc/hosts"], "NO-GO"),
        (("-k", "JOB-10"), ["/etc/hosts"], "INCOMPLETE"),
        (("--gpus=1",), ["/etc/hosts"], "NO-GO"),
    ):
        job = job_of(docker_daemon, *paths, outputs=outputs, docker={"network": "not-there-yet"})
        done = run(tmp_path, *options, job=job, platform="local-docker", DOCKER_HOST=docker_daemon.url)
        assert done.verdict == verdict, done.output
        assert docker_daemon.inventory() == before, options
        assert list(results.iterdir()) == []


class Hanging:
    """Runs whose probe container never answers."""

    def __init__(self, daemon: Dockerd, folder: Path) -> None:
        self._daemon = daemon
        self._folder = folder
        self.image = make_image(
            daemon.client(), "gonogo-test/hanging", shell_that_runs("exec /bin/busybox sleep 600"), []
        )

    def start(self, name: str, *options: str) -> subprocess.Popen[str]:
        """A run in a folder of that name, whose container is up when this returns."""
        before = self.containers()
        folder = self._folder / name
        folder.mkdir()
        process = start(
            folder,
            f"--smoke-image={self.image}",
            *options,
            job=job_of(self._daemon, "/etc/hosts"),
            platform="local-docker",
            DOCKER_HOST=self._daemon.url,
        )
        wait_until(lambda: self.containers() != before, "the probe container to run")
        return process

    def containers(self) -> list[str]:
        found = self._daemon.client().containers.list(filters={"label": "gonogo.probe=1"})
        return sorted(container.name for container in found)

    def close(self) -> None:
        self._daemon.clear()
        self._daemon.client().images.remove(self.image)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupted_run_takes_its_container_along(
    tmp_path: Path, docker_daemon: Dockerd, number: signal.Signals
) -> None:
    hanging = Hanging(docker_daemon, tmp_path)
    process = hanging.start("run")
    process.send_signal(number)
    done = finish(process, tmp_path / "run")
    assert done.verdict == "INCOMPLETE"
    assert done.status != 0
    assert docker_daemon.client().containers.list(all=True) == []
    hanging.close()


def test_later_run_removes_what_a_killed_one_left_and_nothing_else(tmp_path: Path, docker_daemon: Dockerd) -> None:
    hanging = Hanging(docker_daemon, tmp_path)
    killed = hanging.start("killed")
    left = hanging.containers()
    killed.kill()
    finish(killed, tmp_path / "killed")
    alive = hanging.start("alive")
    beside = [name for name in hanging.containers() if name not in left]
    assert len(left) == len(beside) == 1
    job = job_of(docker_daemon, "/etc/hosts")
    done = run(tmp_path, job=job, platform="local-docker", DOCKER_HOST=docker_daemon.url)
    assert done.verdict == "GO", done.output
    assert hanging.containers() == beside, "what the dead run left is gone, the run beside ours is left alone"
    alive.send_signal(signal.SIGINT)
    finish(alive, tmp_path / "alive")
    assert hanging.containers() == []
    hanging.close()


def test_probe_that_times_out_takes_its_container_along(tmp_path: Path, docker_daemon: Dockerd) -> None:
    hanging = Hanging(docker_daemon, tmp_path)
    options = (f"--smoke-image={hanging.image}", "--probe-timeout=3")
    job = job_of(docker_daemon, "/etc/hosts")
    done = run(tmp_path, *options, job=job, platform="local-docker", DOCKER_HOST=docker_daemon.url)
    done.broken("DOCK-04", "did not end in time", remedy="--probe-timeout", state="unverified")
    done.blocked("PATH-01[/etc/hosts]", by="DOCK-04")
    done.fine("DOCK-01", "DOCK-02", "DOCK-03")
    assert docker_daemon.client().containers.list(all=True) == []
    hanging.close()


def test_workers_give_the_same_verdict_and_ask_no_more(tmp_path: Path, docker_daemon: Dockerd, results: Path) -> None:
    outputs = [{"name": "results", "uri": str(results), "mount": "/results"}]
    job = job_of(docker_daemon, "/etc/hosts", "/no/such", "/etc/group", outputs=outputs)
    seen = []
    for options in ((), ("-n4",)):
        before = len(docker_daemon.calls())
        done = run(tmp_path, *options, job=job, platform="local-docker", DOCKER_HOST=docker_daemon.url)
        calls = docker_daemon.calls()[before:]
        assert calls.count("POST /containers/create") == 1
        seen.append((done.status, done.verdict, states(done.report), done.causes, done.probes, sorted(calls)))
    assert seen[0] == seen[1]
