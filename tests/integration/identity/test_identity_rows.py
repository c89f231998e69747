"""Whose folders a job may write, and as whom it runs: each trouble with its own cause on a real daemon."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import lanes
import pytest
from identity_runs import SUBMITTER, Launcher, check, mounted, output, owned_folder
from services.dockerd import Dockerd
from suite_runs import Finished

USER = f"{SUBMITTER}:{SUBMITTER}"


@pytest.fixture(scope="module", autouse=True)
def _may_mount() -> None:
    lanes.require("docker", "" if os.geteuid() == 0 else "mounting needs root: run the tests as root")


def mend(command: str, folder: Path) -> None:
    """Run a remedy as it stands. Root needs no sudo, and a machine of tests may have none."""
    tools = folder / "tools"
    tools.mkdir(exist_ok=True)
    (tools / "sudo").write_text('#!/bin/sh\nexec "$@"\n')
    (tools / "sudo").chmod(0o755)
    subprocess.run(["sh", "-c", command], check=True, env={**os.environ, "PATH": f"{tools}:{os.environ['PATH']}"})


def test_output_of_roots_is_mended_by_its_remedy(tmp_path: Path, docker_daemon: Dockerd, folder: Path) -> None:
    results = owned_folder(folder / "re sults", 0)
    job = {"run_as": USER, "outputs": [output(results)]}
    done = check(tmp_path, docker_daemon, **job)
    row = done.broken(f"ID-02[{results}]", f"{results} cannot be written by {USER}", remedy=f"chown {USER} '{results}'")
    assert "Permission denied" in row["message"]
    assert done.causes == [f"ID-02[{results}]"]
    done.blocked(f"PATH-02[{results}]", "ID-03", by=f"ID-02[{results}]")
    assert list(results.iterdir()) == []
    mend(row["remedy"], tmp_path)
    done = check(tmp_path, docker_daemon, **job)
    assert done.verdict == "GO", done.output
    assert list(results.iterdir()) == []


def test_owner_of_the_folder_may_write_it(tmp_path: Path, docker_daemon: Dockerd, folder: Path) -> None:
    results = owned_folder(folder / "results", 4321, 0o700)
    env = {"HF_HOME": "/elsewhere"}  # the job's own affair: nothing is written there
    done = check(tmp_path, docker_daemon, run_as="4321:4321", outputs=[output(results)], env=env)
    assert done.verdict == "GO", done.output
    assert evidence(done, "ID-03", "set_by_the_job") == "HF_HOME"
    done.fine(f"ID-02[{results}]", f"ID-05[{results}]", "ID-01", "ID-03", "ID-08")
    assert done.row("ID-01")["found"] == "4321:4321"


def test_each_folder_has_its_own_cause(tmp_path: Path, docker_daemon: Dockerd, folder: Path) -> None:
    sticky = owned_folder(folder / "sticky", 0, 0o1777)
    read_only, full, children = (owned_folder(folder / name, SUBMITTER) for name in ("read-only", "full", "children"))
    (children / "epoch").mkdir()
    (children / "epoch" / "model.pt").write_text("x")
    (children / "lost+found").mkdir()
    (children / "ours").mkdir()
    os.chown(children / "ours", SUBMITTER, SUBMITTER)
    (children / "ours" / "log").write_text("x")
    outputs = [output(one, f"/{one.name}") for one in (sticky, read_only, full, children)]
    # Sixteen inodes: the root folder and fifteen files.
    with (
        mounted(read_only, "-t", "tmpfs", "-o", f"ro,uid={SUBMITTER}", "none"),
        mounted(full, "-t", "tmpfs", "-o", f"size=64k,nr_inodes=16,uid={SUBMITTER}", "none"),
    ):
        for number in range(15):
            (full / str(number)).touch()
            os.chown(full / str(number), SUBMITTER, SUBMITTER)
        done = check(tmp_path, docker_daemon, run_as=USER, outputs=outputs)
    done.fine(f"ID-02[{sticky}]", f"ID-05[{sticky}]")
    done.broken(f"ID-02[{read_only}]", "Read-only file system", remedy="read-write")
    done.broken(f"PATH-05[{full}]", "has no free inodes", remedy="Free space")
    done.blocked(f"ID-02[{full}]", by=f"PATH-05[{full}]")
    row = done.broken(f"ID-05[{children}]", "2 entries", remedy=f"chown -h {USER}")
    assert f"{children}/epoch, {children}/ours/log" in row["message"]
    assert sorted(done.causes) == sorted([f"ID-02[{read_only}]", f"PATH-05[{full}]", f"ID-05[{children}]"])
    mend(row["remedy"], tmp_path)
    assert (children / "epoch" / "model.pt").stat().st_uid == SUBMITTER


def test_full_disk_is_the_outputs_cause(tmp_path: Path, docker_daemon: Dockerd, folder: Path) -> None:
    full = owned_folder(folder / "full", SUBMITTER)
    with mounted(full, "-t", "tmpfs", "-o", f"size=64k,uid={SUBMITTER}", "none"):
        (full / "data").write_bytes(b"x" * 65536)
        os.chown(full / "data", SUBMITTER, SUBMITTER)
        done = check(tmp_path, docker_daemon, run_as=USER, outputs=[output(full)])
    done.broken(f"PATH-05[{full}]", "is full", remedy="Free space")
    assert done.causes == [f"PATH-05[{full}]"]


def test_inputs_that_may_be_changed(tmp_path: Path, docker_daemon: Dockerd, folder: Path) -> None:
    data = owned_folder(folder / "set", SUBMITTER)
    ours, roots = folder / "ours.json", folder / "roots.json"
    for path in (ours, roots):
        path.write_text("{}")
    os.chown(ours, SUBMITTER, SUBMITTER)
    inputs = [{"name": one.name, "uri": str(one), "read_only": False} for one in (data, ours, roots)]
    done = check(tmp_path, docker_daemon, run_as=USER, inputs=inputs)
    done.fine(f"ID-02[{data}]", f"ID-02[{ours}]", f"PATH-01[{roots}]")
    done.broken(f"ID-02[{roots}]", f"cannot be changed by {USER}", remedy=f"chown {USER} {roots}")
    assert "in the container alone" in evidence(done, "ID-03", "home"), "no home among somebody's data"


def evidence(done: Finished, row: str, name: str) -> str:
    return next(str(one["text"]) for one in done.row(row)["evidence"] if one["name"] == name)


@pytest.mark.parametrize(
    ("value", "message"),
    [("ml", "not UID:GID"), ("0:0", "TAO_DOCKER_CONTAINER_USER is root")],
)
def test_older_variable_that_names_no_user(tmp_path: Path, docker_daemon: Dockerd, value: str, message: str) -> None:
    done = check(tmp_path, docker_daemon, run_as="4321:4321", variables={"TAO_DOCKER_CONTAINER_USER": value})
    done.broken("ID-01", message, remedy="TAO_DOCKER_CONTAINER_USER")
    done.blocked("ID-07", "ID-03", "DOCK-04", by="ID-01")
    assert done.causes == ["ID-01"]


def test_older_variable_beats_the_job_file(tmp_path: Path, docker_daemon: Dockerd, folder: Path) -> None:
    results = owned_folder(folder / "results", 4321)
    variables = {"TAO_DOCKER_CONTAINER_USER": "4321"}
    done = check(tmp_path, docker_daemon, run_as="root", outputs=[output(results)], variables=variables)
    assert done.verdict == "GO", done.output
    assert done.row("ID-01")["found"] == "4321:4321"


#: A plugin for the run: the docker host's shell is another account's than this process.
OTHER_ACCOUNT = """
from gonogo.platforms.docker.platform import DockerPlatform
from gonogo.platforms.shell import LocalShell

AS = ("setpriv", "--reuid=4321", "--regid=4322", "--groups=4322,77", "/bin/sh")
DockerPlatform._make_host = lambda self: LocalShell("gpu-host", AS)
"""


def test_numbers_are_the_docker_hosts(tmp_path: Path, docker_daemon: Dockerd, folder: Path) -> None:
    """This process is root; the account on the docker host is not, and only that counts."""
    (tmp_path / "other_account.py").write_text(OTHER_ACCOUNT)
    results = folder / "results"
    results.mkdir(mode=0o700)
    os.chown(results, 4321, 4322)
    closed = folder / "closed"
    (closed / "results").mkdir(parents=True)
    closed.chmod(0o700)
    job = {"run_as": "submitter", "outputs": [output(results), output(closed / "results", "/closed")]}
    done = check(tmp_path, docker_daemon, "-p", "other_account", variables={"PYTHONPATH": str(tmp_path)}, **job)
    done.fine("ID-01", "ID-07", f"ID-02[{results}]")
    assert done.row("ID-01")["found"] == "4321:4322"
    assert evidence(done, "ID-01", "groups") == "77"
    below = f"{closed}/results"
    done.broken(f"PATH-02[{below}]", f"may not enter {closed}", remedy=f"chmod o+x {closed}")
    done.blocked(f"ID-02[{below}]", f"ID-05[{below}]", by=f"PATH-02[{below}]")
    assert done.causes == [f"PATH-02[{below}]"]


def test_retention_is_refused_where_it_would_delete_wrongly(
    tmp_path: Path, docker_daemon: Dockerd, folder: Path
) -> None:
    results = owned_folder(folder / "results", 4321)
    job = {"outputs": [output(results)], "automl": {"algorithm": "bayesian"}}
    done = check(tmp_path, docker_daemon, run_as="4321:4321", **job)
    done.broken("ID-06", "refused for 4321:4321", remedy="retention: false")
    done = check(tmp_path, docker_daemon, run_as="root", **job)
    done.broken("ID-06", "refused for a job as root", remedy="run_as: submitter")
    off = {**job, "automl": {"algorithm": "bayesian", "retention": False}}
    done = check(tmp_path, docker_daemon, run_as="4321:4321", **off)
    assert done.verdict == "GO", done.output
    assert "ID-06" not in {row["id"] for row in done.report["rows"]}


def test_retention_of_the_submitters_own(launcher: Launcher, folder: Path) -> None:
    results = owned_folder(folder / "results", SUBMITTER)
    done = launcher.check(launcher.job(command="true", outputs=[output(results)], automl={"algorithm": "bayesian"}))
    done.fine("ID-06", "ID-07")


@pytest.fixture
def doubtful_daemon() -> Iterator[Dockerd]:
    """A daemon with a storage and a log driver that are known to be bad."""
    daemon = Dockerd(arguments=["--storage-driver=vfs", "--log-driver=none"])
    try:
        daemon.start()
        daemon.load_images()
        yield daemon
    finally:
        daemon.close()


def test_doubtful_daemon_is_named(tmp_path: Path, doubtful_daemon: Dockerd) -> None:
    done = check(tmp_path, doubtful_daemon, run_as=USER)
    row = done.broken("DOCK-05", "storage driver vfs", remedy="daemon.json", state="warned")
    assert "log driver none: no log of a job can be read" in row["message"]
    assert done.verdict == "GO", done.output
    assert evidence(done, "DOCK-05", "api") == "1.41"
