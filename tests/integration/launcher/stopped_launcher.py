"""A launcher that stops at one moment of a submission, for tests that kill or interrupt it there.

The stop is put into its process by way of `sitecustomize`; nothing of it is in the package.
"""

from __future__ import annotations

import signal
import subprocess

from gonogo_command import Gonogo, finish, wait_until

#: Stops before (STOP=before) or after (STOP=after) the platform's own `submit`.
STOP = """
import os, time
from pathlib import Path
import gonogo.platforms.registry as registry

opened = registry.open_platform


def open_platform(*arguments):
    platform = opened(*arguments)
    submit = platform.submit

    def stopping(submission):
        if os.environ["STOP"] == "before":
            stop()
        placed = submit(submission)
        stop()
        return placed

    platform.submit = stopping
    return platform


def stop():
    Path(os.environ["STOPPED"]).touch()
    while True:
        time.sleep(1)


registry.open_platform = open_platform
"""
#: Stops between the daemon's create and start.
STOP_BETWEEN = """
import os, time
from pathlib import Path
from docker.api.container import ContainerApiMixin


def start(self, *arguments, **options):
    Path(os.environ["STOPPED"]).touch()
    while True:
        time.sleep(1)


put_archive = ContainerApiMixin.put_archive


def put(self, container, *arguments):
    if self.inspect_container(container)["Name"].startswith("/tao-job-"):
        ContainerApiMixin.start = start
    return put_archive(self, container, *arguments)


ContainerApiMixin.put_archive = put
"""


def stopped_launcher(gonogo: Gonogo, program: str, *words: str, **variables: str) -> subprocess.Popen[str]:
    """Start that command and wait until it has stopped where `program` says."""
    folder = gonogo.folder / "stop"
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(program)
    stopped = folder / "stopped"
    launcher = gonogo.start(*words, PYTHONPATH=str(folder), STOPPED=str(stopped), **variables)
    wait_until(lambda: stopped.exists() or launcher.poll() is not None, "the launcher to come to its stop")
    assert stopped.exists(), finish(launcher).said
    return launcher


def kill_while_stopped(gonogo: Gonogo, program: str, *words: str, **variables: str) -> None:
    """The same, and kill it there."""
    launcher = stopped_launcher(gonogo, program, *words, **variables)
    launcher.send_signal(signal.SIGKILL)
    launcher.communicate()
