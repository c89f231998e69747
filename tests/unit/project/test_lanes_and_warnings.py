"""The harness's own test configuration: lanes that are missing are named or fail, and warnings fail."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.checkout import ROOT

TESTS = """
import pytest
from tests import lanes

def test_lane():
    lanes.require("docker", "dockerd is not installed: apt-get install docker.io")

def test_lane_too():
    lanes.require("docker", "dockerd is not installed: apt-get install docker.io")

def test_browser():
    lanes.require("browser", "chromium is not installed: apt-get install chromium")

def test_lane_that_is_there():
    lanes.require("docker", "")

@pytest.mark.skip(reason="not about a lane")
def test_skipped():
    pass
"""

WARNINGS = """
import warnings
import pytest

def test_warns():
    warnings.warn("something")

@pytest.mark.filterwarnings("ignore:something")
def test_may_warn():
    warnings.warn("something")
"""


def run(folder: Path, text: str, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run the text as a test file under a copy of tests/conftest.py."""
    tests = folder / "tests"
    tests.mkdir()
    for name in ("conftest.py", "lanes.py"):
        shutil.copy2(ROOT / "tests" / name, tests)
    shutil.copytree(ROOT / "tests" / "services", tests / "services")
    (folder / "conftest.py").touch()
    (folder / "pytest.ini").write_text("[pytest]\n")
    (tests / "test_it.py").write_text(text)
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("GONOGO_", "PYTEST_"))}
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *arguments],
        cwd=folder,
        env={**environment, **variables},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.mark.parametrize("arguments", [[], ["-n2"]], ids=["one process", "xdist"])
def test_a_missing_lane_is_named_with_how_to_enable_it(tmp_path: Path, arguments: list[str]) -> None:
    done = run(tmp_path, TESTS, *arguments)
    assert done.returncode == 0, done.stdout
    assert "lanes left out" in done.stdout
    assert "docker (2 tests): dockerd is not installed: apt-get install docker.io" in done.stdout
    assert "browser (1 test): chromium is not installed: apt-get install chromium" in done.stdout
    assert "not about a lane" not in done.stdout.partition("lanes left out")[2]


def test_a_required_lane_that_is_missing_fails(tmp_path: Path) -> None:
    done = run(tmp_path, TESTS, GONOGO_REQUIRE_LANES="1")
    assert done.returncode == 1, done.stdout
    assert "3 failed, 1 passed, 1 skipped" in done.stdout
    assert "lane docker is required (GONOGO_REQUIRE_LANES=1): dockerd is not installed" in done.stdout
    assert "lanes left out" not in done.stdout


def test_a_warning_fails_a_test_that_does_not_allow_it(tmp_path: Path) -> None:
    done = run(tmp_path, WARNINGS)
    assert done.returncode == 1, done.stdout
    assert "test_it.py::test_warns" in done.stdout
    assert "1 failed, 1 passed" in done.stdout
