"""`make demo`, in a copy of the checkout, on a machine without GPU, Docker and credentials."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.checkout import copy_of_checkout
from tests.environments import make_environment

SECONDS = 180.0


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    return copy_of_checkout(tmp_path / "checkout")


def make(checkout: Path, *arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
    home = checkout.parent / "home"
    home.mkdir(exist_ok=True)
    environment = {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}/usr/bin:/bin",
        "HOME": str(home),
        "PIP_NO_BUILD_ISOLATION": "0",  # pip reads the variable as 'no isolation' when it is 0
        "PIP_NO_INDEX": "1",
        **more,
    }
    return subprocess.run(
        ["make", "-C", str(checkout), "--no-print-directory", "CONSTRAINTS=", *arguments],
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=SECONDS,
        check=False,
    )


def test_demo_runs_and_leaves_the_report(checkout: Path) -> None:
    make_environment(checkout / ".venv")  # with the requirements, so that the installation needs no network
    done = make(checkout, "demo")
    assert done.returncode == 0, done.stdout
    report = checkout / "readiness.html"
    assert f"The report: {report}" in done.stdout
    assert "GO" in report.read_text(encoding="utf-8")
    assert "epoch 10/10" in done.stdout, "the job was not followed to its end"
    model = json.loads((checkout / "demo-results" / "model.json").read_text())
    assert model["slope"] == pytest.approx(2.39, abs=0.01)

    again = make(checkout, "demo")
    assert again.returncode == 0, "a second demo must work as well\n" + again.stdout


def test_demo_is_refused_when_its_input_is_gone(checkout: Path) -> None:
    make_environment(checkout / ".venv")  # with the requirements, so that the installation needs no network
    (checkout / "examples" / "demo" / "points.csv").unlink()
    done = make(checkout, "demo")
    assert done.returncode != 0, done.stdout
    assert "NO-GO" in done.stdout
    assert not (checkout / "demo-results" / "model.json").exists()
    assert "NO-GO" in (checkout / "readiness.html").read_text(encoding="utf-8")


def test_an_old_python_is_named(checkout: Path) -> None:
    fake = checkout.parent / "python3"
    fake.write_text("#!/bin/sh\nexit 1\n")
    fake.chmod(0o755)
    done = make(checkout, "demo", f"PYTHON={fake}")
    assert done.returncode != 0
    assert f"needs Python 3.10 or newer as '{fake}'" in done.stdout


def test_a_python_without_venv_says_what_to_install(checkout: Path) -> None:
    fake = checkout.parent / "python3"
    fake.write_text(f'#!/bin/sh\ncase "$*" in *ensurepip*) exit 1;; esac\nexec {sys.executable} "$@"\n')
    fake.chmod(0o755)
    done = make(checkout, "demo", f"PYTHON={fake}")
    assert done.returncode != 0
    assert "apt-get install python3-venv" in done.stdout


def test_help_is_the_default(checkout: Path) -> None:
    done = make(checkout)
    assert done.returncode == 0
    assert {line.split()[1] for line in done.stdout.splitlines()} >= {"demo", "test", "lint", "types", "bench", "clean"}
