"""Runs of the suite and of the command as a user with groups of its own, and what is on a disk afterwards."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from services.dockerd import Dockerd
from suite_runs import Finished, environment, job_text, run

SUBMITTER = 1234
GROUPS = (2001, 2002)
SECONDS = 120.0


def check(
    folder: Path, daemon: Dockerd, *options: str, variables: dict[str, str] | None = None, **fields: Any
) -> Finished:
    """A run of the suite on that daemon by root, for a job that says who it runs as."""
    text = job_text(**{"image": daemon.busybox, "docker": {"network": "none"}, **fields})
    more = {"DOCKER_HOST": daemon.url, **(variables or {})}
    return run(folder, *options, job=text, platform="local-docker", **more)


def output(path: Path, mount: str = "/results") -> dict[str, str]:
    return {"name": mount.strip("/"), "uri": str(path), "mount": mount}


def owned_folder(path: Path, uid: int, mode: int = 0o755) -> Path:
    path.mkdir()
    path.chmod(mode)
    os.chown(path, uid, uid)
    return path


def owners(folder: Path) -> dict[str, int]:
    """UID of everything in the folder, by its path from there."""
    return {str(one.relative_to(folder)): one.lstat().st_uid for one in sorted(folder.rglob("*"))}


@contextlib.contextmanager
def mounted(path: Path, *words: str) -> Iterator[Path]:
    """A file system of its own on that folder: `mount WORDS PATH`."""
    subprocess.run(["mount", *words, str(path)], check=True)
    try:
        yield path
    finally:
        subprocess.run(["umount", "-l", str(path)], check=True)


@dataclass
class Launcher:
    """`gonogo` in `folder`, run by `user` with the groups `GROUPS`; its state is kept below the folder."""

    folder: Path
    daemon: Dockerd
    user: int
    started: list[subprocess.Popen[str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        (self.folder / "state").mkdir(mode=0o700, parents=True)
        for path in (self.folder, self.folder / "state"):
            os.chown(path, self.user, self.user)

    def job(self, file: str = "job.yaml", **fields: Any) -> str:
        path = self.folder / file
        path.write_text(job_text(**{"image": self.daemon.busybox, "gpus": 0, **fields}))
        return str(path)

    def start(self, *words: str) -> subprocess.Popen[str]:
        target = (
            ("--platform=local-docker", f"--docker-host={self.daemon.url}") if words[0] in ("launch", "check") else ()
        )
        change = ["setpriv", f"--reuid={self.user}", f"--regid={self.user}", f"--groups={GROUPS[0]},{GROUPS[1]}"]
        # It may read everything: the interpreter or this checkout may lie in a folder that is closed to others.
        change += ["--inh-caps=+dac_read_search", "--ambient-caps=+dac_read_search", "--"]
        process = subprocess.Popen(
            [*change, sys.executable, "-m", "gonogo", *words, *target],
            cwd=self.folder,
            env=environment(self.folder, DOCKER_NETWORK="none", HOME=str(self.folder)),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.started.append(process)
        return process

    def stop_all(self) -> None:
        for process in self.started:
            process.kill()
            process.communicate()

    def __call__(self, *words: str, status: int = 0) -> tuple[str, str]:
        """Standard output and error of a command that must end with that status."""
        process = self.start(*words)
        try:
            out, err = process.communicate(timeout=SECONDS)
        finally:
            process.kill()
        assert process.returncode == status, f"{words} ended with {process.returncode}\n{out}\n{err}"
        return out, err

    def check(self, job: str) -> Finished:
        """A run of the suite by `gonogo check`, whatever its verdict."""
        process = self.start("check", job, "--report", "readiness.json")
        try:
            out, err = process.communicate(timeout=SECONDS)
        finally:
            process.kill()
        report = self.folder / "readiness.json"
        return Finished(process.returncode, out + err, json.loads(report.read_text()) if report.exists() else None)

    def record(self, launch_id: str) -> dict[str, Any]:
        return dict(json.loads((self.folder / "state" / "launches" / f"{launch_id}.json").read_text()))
