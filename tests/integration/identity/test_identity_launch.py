"""A launched job has exactly the user, groups, home and caches that were proven."""

from __future__ import annotations

import io
import json
import tarfile
from pathlib import Path

import lanes
import pytest
from identity_runs import GROUPS, SUBMITTER, Launcher, check, output, owned_folder, owners
from python_image import missing_for_python_image, python_image
from services.docker_platforms import docker_platform, submission
from services.dockerd import Dockerd

from gonogo.platforms.faults import LaunchRefused

#: What the job says of itself, as JSON on a line.
TELL = r"""
import getpass, json, os, tempfile
names = ("USER", "LOGNAME", "HOME", "XDG_CACHE_HOME", "HF_HOME", "TORCH_HOME", "TRITON_CACHE_DIR",
         "TORCHINDUCTOR_CACHE_DIR", "MPLCONFIGDIR")
places = {name: os.environ[name] for name in names}
for place in names[2:]:
    os.makedirs(places[place], exist_ok=True)
    open(os.path.join(places[place], "used"), "w").close()
print(json.dumps({"uid": os.getuid(), "gid": os.getgid(), "groups": sorted(os.getgroups()), "user": getpass.getuser(),
                  "home": os.path.expanduser("~"), "places": places, "owner": os.stat(places["HOME"]).st_uid}))
"""


@pytest.fixture
def image(docker_daemon: Dockerd) -> str:
    lanes.require("docker", missing_for_python_image())
    return python_image(docker_daemon)


def test_submitter_without_a_name_in_the_image(launcher: Launcher, image: str, folder: Path) -> None:
    results = owned_folder(folder / "results", SUBMITTER, 0o700)
    job = launcher.job(image=image, command=["python3", "-c", TELL], outputs=[output(results)])
    launcher("launch", job, "--id", "told", "--watch", "--report", "go.json")
    rows = {row["id"]: row for row in json.loads((launcher.folder / "go.json").read_text())["rows"]}
    told = json.loads(launcher("logs", "told")[0])
    assert (told["uid"], told["gid"], told["owner"]) == (SUBMITTER, SUBMITTER, SUBMITTER)
    assert set(told["groups"]) - {SUBMITTER} == set(GROUPS)
    assert told["home"] == told["places"]["HOME"] == "/results/.gonogo/told/home"
    assert told["user"] == told["places"]["USER"] == told["places"]["LOGNAME"]
    assert all(place.startswith(told["home"]) for place in list(told["places"].values())[2:])
    assert rows["ID-01"]["found"] == f"{SUBMITTER}:{SUBMITTER}"
    assert f"getpass.getuser() says {told['user']}" in rows["ID-03"]["found"]
    assert set(owners(results).values()) == {SUBMITTER}, "also the folders of the home are the submitter's"
    assert launcher.record("told")["identity"] == f"{SUBMITTER}:{SUBMITTER}"


def test_home_in_the_container_alone(tmp_path: Path, docker_daemon: Dockerd, image: str) -> None:
    job = {"image": image, "command": ["python3", "-c", TELL], "run_as": "4321:4321"}
    done = check(tmp_path, docker_daemon, **job)
    assert done.verdict == "GO", done.output
    home = next(one["text"] for one in done.row("ID-03")["evidence"] if one["name"] == "home")
    assert home == "/tmp/gonogo-home-4321, in the container alone: the job has no writable mount"
    platform = docker_platform(docker_daemon.url, docker_network="none")
    placed = platform.submit(submission("alone", image, job["command"], run_as="4321:4321"))
    told = json.loads(b"".join(platform.logs(placed.native_id, follow=True)))
    assert (told["uid"], told["owner"], told["user"], told["home"]) == (4321, 4321, "user4321", "/tmp/gonogo-home-4321")
    platform.close()


def test_image_whose_python_gives_no_name(tmp_path: Path, docker_daemon: Dockerd, folder: Path) -> None:
    """Without python the home alone is proven; a python that fails is the row's own failure."""
    script = folder / "python3"
    script.write_text("#!/bin/sh\necho \"KeyError: 'getpwuid(): uid not found: 4321'\" >&2\nexit 1\n")
    script.chmod(0o755)
    client = docker_daemon.client()
    made = client.containers.create(docker_daemon.busybox, network_mode="none")
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w") as tar:
        tar.add(script, arcname="usr/bin/python3")
    made.put_archive("/", data.getvalue())
    broken = made.commit("gonogo-test/no-name", "1")
    try:
        results = owned_folder(folder / "results", 4321)
        job = {"run_as": "4321:4321", "outputs": [output(results)]}
        done = check(tmp_path, docker_daemon, image="gonogo-test/no-name:1", **job)
        done.broken("ID-03", "getpass.getuser() fails: KeyError: 'getpwuid(): uid not found", remedy="output folder")
        assert list(results.iterdir()) == []
    finally:
        made.remove(force=True)
        client.images.remove(broken.id, force=True)


def test_missing_source_is_not_made_by_a_launch(docker_daemon: Dockerd, folder: Path) -> None:
    gone = folder / "gone"
    platform = docker_platform(docker_daemon.url, docker_network="none")
    job = submission("gone", docker_daemon.busybox, "true", outputs=[output(gone)])
    with pytest.raises(LaunchRefused, match="gone does not exist on the daemon's host"):
        platform.submit(job)
    assert not gone.exists()
    assert platform.find("gone") is None
    assert docker_daemon.client().containers.list(all=True) == []
    platform.close()


def test_home_that_cannot_be_made_refuses_the_launch(docker_daemon: Dockerd, folder: Path) -> None:
    roots = owned_folder(folder / "roots", 0)
    platform = docker_platform(docker_daemon.url, docker_network="none")
    with pytest.raises(LaunchRefused, match=r"cannot make the job's home in .*roots.*Permission denied"):
        platform.submit(submission("no-home", docker_daemon.busybox, "true", outputs=[output(roots)]))
    assert list(roots.iterdir()) == []
    assert platform.find("no-home") is None
    platform.close()
