"""Environments that tests make: a wheel built from the committed files, and virtual environments that hold it.

Nothing is fetched: the packages that gonogo needs are links to those of the environment that runs the tests.
"""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.checkout import copy_of_checkout

SECONDS = 120.0
Completed = subprocess.CompletedProcess[str]


def build_wheel(folder: Path) -> Path:
    """Build the wheel from a copy of the checkout, in this environment."""
    source = copy_of_checkout(folder / "source")
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder), str(source)]
    done = run(command, cwd=folder)
    assert done.returncode == 0, done.stdout
    wheels = list(folder.glob("*.whl"))
    assert len(wheels) == 1, wheels
    return wheels[0]


@dataclass(frozen=True)
class Environment:
    """A virtual environment in `folder`."""

    folder: Path

    @property
    def python(self) -> Path:
        return self.folder / "bin" / "python"

    @property
    def site_packages(self) -> Path:
        version = f"python{sys.version_info.major}.{sys.version_info.minor}"
        return self.folder / "lib" / version / "site-packages"

    def run(self, *command: str, cwd: Path, **variables: str) -> Completed:
        """Run a command of this environment, with little else in its surroundings."""
        home = self.folder / "home"
        home.mkdir(exist_ok=True)
        path = f"{self.folder / 'bin'}{os.pathsep}/usr/local/bin:/usr/bin:/bin"
        return run(command, cwd=cwd, environment={"PATH": path, "HOME": str(home), "COLUMNS": "120", **variables})


def make_environment(folder: Path, wheel: Path | None = None) -> Environment:
    """An environment with gonogo's requirements, and with gonogo itself where a wheel is given."""
    done = run([sys.executable, "-m", "venv", "--without-pip", str(folder)], cwd=folder.parent)
    assert done.returncode == 0, done.stdout
    environment = Environment(folder)
    libraries = folder / "libraries"
    libraries.mkdir()
    for entry in Path(sysconfig.get_path("purelib")).iterdir():
        if not entry.name.startswith(("gonogo", "__editable__", "__pycache__")) and entry.suffix != ".pth":
            (libraries / entry.name).symlink_to(entry)
    (environment.site_packages / "libraries.pth").write_text(f"{libraries}\n")
    if wheel is not None:
        pip = [sys.executable, "-m", "pip", "--python", str(environment.python)]
        done = run([*pip, "install", "-q", "--no-deps", "--no-index", str(wheel)], cwd=folder)
        assert done.returncode == 0, done.stdout
    return environment


def run(command: list[str] | tuple[str, ...], *, cwd: Path, environment: Mapping[str, str] | None = None) -> Completed:
    """Run to the end, both streams together. Raises subprocess.TimeoutExpired, which names the command."""
    return subprocess.run(
        command,
        cwd=cwd,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        timeout=SECONDS,
        check=False,
    )
