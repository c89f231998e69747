"""`run_as: root`: isolated, recorded, and given back to the submitter after every end, by whoever comes first."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import lanes
import pytest
from identity_runs import SUBMITTER, Launcher, output, owned_folder, owners
from services.dockerd import Dockerd, missing_for_dockerd, wait_until

WRITE = "mkdir /results/epoch; echo x >/results/epoch/model; ln -s /etc/passwd /results/link; echo up"


@pytest.fixture
def results(folder: Path) -> Path:
    return owned_folder(folder / "results", SUBMITTER)


def root_job(launcher: Launcher, results: Path, command: str, **fields: object) -> str:
    return launcher.job(command=command, run_as="root", outputs=[output(results)], **fields)


def is_given_back(results: Path) -> bool:
    return set(owners(results).values()) == {SUBMITTER}


def test_after_the_watched_end(launcher: Launcher, results: Path) -> None:
    job = root_job(launcher, results, f"id -u; {WRITE}; exit 3")
    launcher.check(job).fine("ID-01", "ID-04", f"ID-05[{results}]", "ID-08")
    out, _ = launcher("launch", job, "--id", "ends", "--watch", status=5)
    assert out.splitlines()[-2:] == ["0", "up"], out
    assert "epoch/model" in owners(results)
    assert is_given_back(results)
    assert os.stat("/etc/passwd").st_uid == 0, "what a link leads to is left alone"
    record = launcher.record("ends")
    assert (record["identity"], record["owes_ownership"], record["exit_code"]) == ("root (0:0)", {}, 3)


def test_after_cancel(launcher: Launcher, results: Path) -> None:
    job = root_job(launcher, results, f"{WRITE}; sleep 600")
    launcher("launch", job, "--id", "stopped")
    wait_until((results / "link").is_symlink, "the job to write")
    owes = launcher.record("stopped")["owes_ownership"]
    assert (owes["folders"], owes["owner"]) == ([str(results)], f"{SUBMITTER}:{SUBMITTER}")
    assert not is_given_back(results)
    launcher("cancel", "stopped", "--grace", "0")
    assert is_given_back(results)
    assert launcher.record("stopped")["owes_ownership"] == {}


@pytest.mark.parametrize(
    "words", [("status", "left"), ("logs", "left"), ("cancel", "left")], ids=lambda words: words[0]
)
def test_crash_after_the_end_is_finished_by_the_next_command(
    launcher: Launcher, results: Path, words: tuple[str, ...]
) -> None:
    job = root_job(launcher, results, f"{WRITE}; sleep 600")
    watch = launcher.start("launch", job, "--id", "left", "--watch")
    wait_until((results / "link").is_symlink, "the job to write")
    watch.send_signal(signal.SIGKILL)
    watch.communicate()
    launcher.daemon.client().containers.get("tao-job-left").kill()
    assert not is_given_back(results)
    launcher(*words, status={"status": 1, "logs": 1, "cancel": 1}[words[0]])
    assert is_given_back(results)
    assert launcher.record("left")["owes_ownership"] == {}


def test_next_launch_waits_for_it(launcher: Launcher, results: Path) -> None:
    """While the folder cannot be changed, nothing is launched; then the next launch does it first."""
    launcher("launch", root_job(launcher, results, WRITE), "--id", "first")
    wait_until(lambda: _ended(launcher, "first"), "the job to end")
    other = launcher.job("other.yaml", command="true")
    subprocess.run(["mount", "--bind", str(results), str(results)], check=True)
    try:
        subprocess.run(["mount", "-o", "remount,ro,bind", str(results)], check=True)
        _, err = launcher("launch", other, "--id", "second", status=1)
        assert "Read-only file system" in err
        done = launcher.check(other)
        done.broken("ID-08", "launch first has ended and still owes", remedy="gonogo status first")
        assert done.causes == ["ID-08"]
        assert _containers(launcher) == ["tao-job-first"]
        out, _ = launcher("status", "first")
        assert "what it wrote still belongs to root" in out
        assert "Read-only file system" in launcher.record("first")["owes_ownership"]["trouble"]
    finally:
        subprocess.run(["umount", str(results)], check=True)
    assert not is_given_back(results)
    _, err = launcher("launch", other, "--id", "second", "--watch")
    assert "first: what it wrote as root was given to the submitter" in err
    assert is_given_back(results)
    assert launcher.record("first")["owes_ownership"] == {}


def test_running_job_owes_nothing_yet(launcher: Launcher, results: Path) -> None:
    launcher("launch", root_job(launcher, results, f"{WRITE}; sleep 600"), "--id", "runs")
    wait_until((results / "link").is_symlink, "the job to write")
    launcher("launch", launcher.job("other.yaml", command="true"), "--id", "beside", "--watch")
    assert not is_given_back(results)
    assert launcher.record("runs")["owes_ownership"] != {}


def test_folders_that_are_not_the_jobs_own(launcher: Launcher, results: Path) -> None:
    inputs = [{"name": "set", "uri": str(results / "set"), "mount": "/set"}]
    owned_folder(results / "set", SUBMITTER)
    job = root_job(launcher, results, "true", inputs=inputs, mounts=["/usr/lib:/lib2"])
    done = launcher.check(job)
    row = done.broken("ID-04", f"{results}/set lies in {results}, which root may write", remedy="folders of its own")
    assert "/usr/lib is a folder of the host's own" in row["message"]
    # No command that would break the host.
    done.broken("ID-05[/usr/lib]", "belong to root", remedy="Choose a folder of the job's own")


@pytest.fixture
def daemon_that_gives_nothing_away() -> Iterator[Dockerd]:
    """A daemon whose containers may not change owners, as on a network filesystem that squashes root."""
    lanes.require("docker", missing_for_dockerd())
    daemon = Dockerd()
    runtime = daemon.folder / "no-chown-runc"
    # runc wants its own rights; the container's are taken from its configuration.
    edit = (
        "import json, sys; path = sys.argv[1] + '/config.json'; spec = json.load(open(path));"
        "[names.remove('CAP_CHOWN') for names in spec['process']['capabilities'].values() if 'CAP_CHOWN' in names];"
        "json.dump(spec, open(path, 'w'))"
    )
    runtime.write_text(
        '#!/bin/sh\nprevious=\nfor word in "$@"; do\n'
        f'[ "$previous" = --bundle ] && /usr/bin/python3 -ISc "{edit}" "$word"\nprevious=$word\ndone\n'
        f'exec {shutil.which("runc")} "$@"\n'
    )
    runtime.chmod(0o755)
    daemon._arguments += [f"--add-runtime=tame={runtime}", "--default-runtime=tame"]
    try:
        daemon.start()
        daemon.load_images()
        yield daemon
    finally:
        daemon.close()


def test_refused_where_nothing_can_be_given_back(
    open_launcher: Callable[[Dockerd], Launcher], daemon_that_gives_nothing_away: Dockerd, results: Path
) -> None:
    launcher = open_launcher(daemon_that_gives_nothing_away)
    job = root_job(launcher, results, WRITE)
    launcher("launch", job, "--id", "never", status=1)
    launcher.check(job).broken(
        "ID-04", f"cannot be given to {SUBMITTER}:{SUBMITTER}: Operation not permitted", remedy="run_as: submitter"
    )
    assert _containers(launcher) == []
    assert list(results.iterdir()) == []


def _containers(launcher: Launcher) -> list[str]:
    return sorted(str(one.name) for one in launcher.daemon.client().containers.list(all=True))


def _ended(launcher: Launcher, launch_id: str) -> bool:
    container = launcher.daemon.client().containers.get(f"tao-job-{launch_id}")
    return str(container.attrs["State"]["Status"]) == "exited"
