"""Looking at the catalogue or the help loads no platform library, and asks nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.environments import Environment

HEAVY = ("docker", "paramiko", "boto3", "botocore", "leptonai", "sky", "requests", "urllib3")

COMMAND = """
import sys
from gonogo.launcher.main import main
sys.argv = ["gonogo", *sys.argv[1:]]
try:
    main()
except SystemExit as end:
    status = end.code
else:
    status = 0
print("STATUS", status or 0)
print("LOADED", *sorted(name for name in sys.modules if "." not in name))
"""

SUITE = """
import sys
import pytest
status = pytest.main(sys.argv[1:])
print("STATUS", int(status))
print("LOADED", *sorted(name for name in sys.modules if "." not in name))
"""


def loaded(environment: Environment, program: str, arguments: list[str], folder: Path) -> set[str]:
    """Names of the modules that were loaded, without those below another one."""
    done = environment.run("python", "-c", program, *arguments, cwd=folder)
    lines = {line.split(" ", 1)[0]: line for line in done.stdout.splitlines()}
    assert lines.get("STATUS") == "STATUS 0", done.stdout
    return set(lines["LOADED"].split()[1:])


@pytest.mark.parametrize(
    "arguments",
    [["--help"], ["list"], ["list", "--platform", "local-docker"], ["explain", "DOCK-01"], ["launch", "--help"]],
    ids=" ".join,
)
def test_command_loads_no_platform_library(installed: Environment, tmp_path: Path, arguments: list[str]) -> None:
    assert loaded(installed, COMMAND, arguments, tmp_path) & set(HEAVY) == set()


@pytest.mark.parametrize("platform", ["interactive", "local-docker"])
def test_collecting_loads_no_platform_library(installed: Environment, tmp_path: Path, platform: str) -> None:
    arguments = [f"--platform={platform}", "--image=busybox:1.36", "--collect-only", "-q"]
    assert loaded(installed, SUITE, arguments, tmp_path) & set(HEAVY) == set()


def test_the_libraries_could_be_loaded(installed: Environment, tmp_path: Path) -> None:
    """Else the tests above could not fail."""
    done = installed.run("python", "-c", "import docker, requests, urllib3", cwd=tmp_path)
    assert done.returncode == 0, done.stdout
