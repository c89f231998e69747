"""Paths of a job on local-docker: each kind of trouble in its own words, whatever the name holds, and never more asked
of the target because there are more of them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from services.dockerd import Dockerd
from suite_runs import Finished, job_text, run

JOB_UID = 1000
ODD_NAMES = (
    "comma, space 'and' \"quotes\".txt",
    "new\nline.txt",
    "`id`; exit 7 & $(id) # 100%.txt",
    "--rm",
    "ü日本.txt",
    "back\\slash",
)

#: A plugin for the run: how many programs it starts.
COUNT_PROGRAMS = r"""
import pathlib, sys

started = []
sys.addaudithook(lambda event, arguments: started.append(str(arguments[:2])) if event == "subprocess.Popen" else None)


def pytest_unconfigure(config):
    pathlib.Path({file!r}).write_text("\n".join(started))
"""


@pytest.fixture
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that any user can reach."""
    path = tmp_path_factory.mktemp("data")
    for parent in (path, path.parent, path.parent.parent):
        parent.chmod(0o755)
    return path


def job_of(daemon: Dockerd, paths: list[str]) -> str:
    inputs = [{"name": f"input-{number}", "uri": path} for number, path in enumerate(paths)]
    return job_text(image=daemon.busybox, run_as=f"{JOB_UID}:{JOB_UID}", inputs=inputs)


class Counted:
    """A run, and what it asked of the target."""

    def __init__(self, tmp_path: Path, daemon: Dockerd, job: str) -> None:
        (tmp_path / "count_programs.py").write_text(COUNT_PROGRAMS.format(file=str(tmp_path / "programs")))
        before = len(daemon.calls())
        options = ("-p", "count_programs")
        self.done: Finished = run(
            tmp_path, *options, job=job, platform="local-docker", DOCKER_HOST=daemon.url, PYTHONPATH=str(tmp_path)
        )
        self.calls = daemon.calls()[before:]
        self.programs = (tmp_path / "programs").read_text().splitlines()


def test_each_path_is_judged_by_itself(tmp_path: Path, docker_daemon: Dockerd, folder: Path) -> None:
    sound = [str(folder / name) for name in ODD_NAMES] + [str(folder / f"plain-{number}") for number in range(4)]
    for path in sound:
        Path(path).write_text("x")
    missing, secret, dangling = folder / "missing", folder / "secret", folder / "dangling"
    named_a_file = folder / "labels.json"
    secret.write_text("x")
    secret.chmod(0o600)
    dangling.symlink_to(folder / "nowhere")
    named_a_file.mkdir()
    broken = [str(path) for path in (missing, secret, dangling, named_a_file)]
    counted = Counted(tmp_path, docker_daemon, job_of(docker_daemon, [*sound, *broken]))
    done = counted.done

    done.fine(*(f"PATH-01[{path}]" for path in sound))
    done.broken(f"PATH-01[{missing}]", f"{missing} does not exist", remedy=f"ls -ld {folder}")
    done.broken(f"PATH-01[{secret}]", "1000:1000 cannot read it", remedy=f"chmod -R o+r {secret}")
    done.broken(f"PATH-01[{dangling}]", "link", remedy=f"readlink -f {dangling}")
    done.broken(f"PATH-01[{named_a_file}]", "is a directory", remedy="Correct the path")
    assert sorted(done.causes) == sorted(f"PATH-01[{path}]" for path in broken)
    assert counted.calls.count("POST /containers/create") == 1
    assert len(counted.programs) == 1, counted.programs


def test_missing_path_with_an_odd_name_is_named(tmp_path: Path, docker_daemon: Dockerd, folder: Path) -> None:
    paths = [str(folder / name) for name in ODD_NAMES]
    done = Counted(tmp_path, docker_daemon, job_of(docker_daemon, paths)).done
    for path in paths:
        done.broken(f"PATH-01[{path}]", f"{path} does not exist".replace("\n", " ⏎ "), remedy="ls -ld")
    assert len(done.causes) == len(paths)


def test_thousand_paths_ask_no_more_than_ten(tmp_path: Path, docker_daemon: Dockerd, folder: Path) -> None:
    paths = [str(folder / f"file-{number}") for number in range(1000)]
    for path in paths:
        Path(path).write_text("x")
    few = Counted(tmp_path, docker_daemon, job_of(docker_daemon, paths[:10]))
    many = Counted(tmp_path, docker_daemon, job_of(docker_daemon, paths))
    for counted, number in ((few, 10), (many, 1000)):
        assert counted.done.verdict == "GO", counted.done.output
        counted.done.fine(*(f"PATH-01[{path}]" for path in paths[:number]))
    assert sorted(many.calls) == sorted(few.calls)
    assert len(many.programs) == len(few.programs) == 1, few.programs
    assert many.calls.count("POST /containers/create") == 1


def test_folders_are_written_as_the_jobs_user(tmp_path: Path, docker_daemon: Dockerd, folder: Path) -> None:
    ours, roots, gone = folder / "ours", folder / "roots", folder / "gone"
    for path in (ours, roots):
        path.mkdir()
    os.chown(ours, JOB_UID, JOB_UID)
    outputs = [{"name": path.name, "uri": str(path), "mount": f"/{path.name}"} for path in (ours, roots, gone)]
    job = job_text(image=docker_daemon.busybox, run_as=f"{JOB_UID}:{JOB_UID}", outputs=outputs)
    done = run(tmp_path, job=job, platform="local-docker", DOCKER_HOST=docker_daemon.url)
    done.fine(f"PATH-02[{ours}]", f"ID-02[{ours}]", f"ID-05[{ours}]", f"PATH-05[{ours}]")
    done.blocked(f"PATH-02[{roots}]", by=f"ID-02[{roots}]")
    done.broken(f"ID-02[{roots}]", "cannot be written by 1000:1000", remedy=f"sudo chown 1000:1000 {roots}")
    done.broken(f"PATH-02[{gone}]", "does not exist", remedy=f"mkdir -p {gone} && chown 1000:1000 {gone}")
    done.blocked(f"ID-02[{gone}]", f"ID-05[{gone}]", by=f"PATH-02[{gone}]")
    assert done.causes == [f"PATH-02[{gone}]", f"ID-02[{roots}]"]
    assert [*ours.iterdir(), *roots.iterdir()] == [], "nothing is left behind"
    assert not gone.exists()
