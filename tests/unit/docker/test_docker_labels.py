"""Whose a container is: only the dead lose theirs, and only where they can be told to be dead."""

from __future__ import annotations

import os
import subprocess
import time

from gonogo.platforms.docker.environment import control_plane_names
from gonogo.platforms.docker.labels import Maker, abandoned, this_process

LATER = time.time() + 3600


def test_own_process_is_alive() -> None:
    assert not abandoned(this_process().labels(LATER))


def test_time_that_is_over() -> None:
    assert abandoned(this_process().labels(time.time() - 1))


def test_dead_process() -> None:
    child = subprocess.Popen(["true"])
    child.wait()
    ours = this_process()
    assert abandoned(Maker(ours.boot, ours.namespace, child.pid, ours.started).labels(LATER))


def test_pid_that_is_used_again() -> None:
    ours = this_process()
    assert abandoned(Maker(ours.boot, ours.namespace, os.getpid(), "1").labels(LATER))


def test_other_machine_or_namespace_is_not_judged() -> None:
    ours = this_process()
    assert not abandoned(Maker("another-boot", ours.namespace, 1, "1").labels(LATER))
    assert not abandoned(Maker(ours.boot, "pid:[1]", 1, "1").labels(LATER))


def test_labels_that_are_not_ours() -> None:
    assert not abandoned({})
    assert not abandoned({"gonogo.expires": "soon"})


def test_control_plane_names() -> None:
    assert control_plane_names(["NCCL_DEBUG", "DOCKER_HOST", "HF_TOKEN", "GONOGO_STATE_DIR", "mongosecret"]) == [
        "DOCKER_HOST",
        "GONOGO_STATE_DIR",
        "mongosecret",
    ]
