"""The wheel in an environment where another project's tests run, and a checkout beside an installed copy."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from tests.checkout import copy_of_checkout
from tests.environments import Environment

CONFTEST = """
import pytest
from fixtures.numbers import three
from platforms import NAME

def pytest_addoption(parser):
    parser.addoption("--platform", default="theirs", choices=["theirs", "other"])
    parser.addoption("--strictly", action="store_true")

@pytest.fixture
def platform(request):
    return request.config.getoption("--platform")

@pytest.fixture
def job():
    return {"theirs": NAME}
"""

TESTS = """
import pytest
from checks.rule import rule
from jobs import JOBS

def test_passes(platform, three, job):
    assert platform in ("theirs", "other") and three == 3 and job == {"theirs": "their platforms"}

def test_fails():
    assert rule() == JOBS

@pytest.mark.skip(reason="theirs")
def test_skips():
    pass

@pytest.mark.xfail
def test_xfails():
    assert False

@pytest.mark.parametrize("n", [3, 1, 2])
def test_order(n):
    pass
"""


@pytest.fixture
def other_project(tmp_path: Path) -> Path:
    """A project with folders and options of the same names as ours."""
    project = tmp_path / "theirs"
    files = {
        "conftest.py": CONFTEST,
        "tests/test_theirs.py": TESTS,
        "fixtures/__init__.py": "",
        "fixtures/numbers.py": "import pytest\n\n@pytest.fixture\ndef three():\n    return 3\n",
        "platforms/__init__.py": "NAME = 'their platforms'\n",
        "checks/__init__.py": "",
        "checks/rule.py": "def rule():\n    return 'a rule'\n",
        "checks/test_theirs_too.py": "def test_in_checks():\n    pass\n",
        "jobs.py": "JOBS = []\n",
        "reports/__init__.py": "raise RuntimeError('their reports must not be imported')\n",
        "launcher.py": "raise RuntimeError('their launcher must not be imported')\n",
        "pytest.ini": "[pytest]\naddopts = -p no:cacheprovider\nfilterwarnings = error\n",
        "job.yaml": "name: theirs\ncommand: echo hello\ngpus: 0\n",
    }
    for name, text in files.items():
        path = project / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return project


def outcomes(environment: Environment, project: Path, *arguments: str) -> tuple[int, list[tuple[str, str]]]:
    """Exit status, and (test, outcome) in the order of the run."""
    report = project / "junit.xml"
    report.unlink(missing_ok=True)
    done = environment.run("python", "-m", "pytest", f"--junit-xml={report}", *arguments, cwd=project, PYTHONPATH=".")
    assert report.is_file(), done.stdout
    cases = ElementTree.parse(report).iter("testcase")
    return done.returncode, [(f"{case.get('classname')}::{case.get('name')}", _outcome(case)) for case in cases]


def _outcome(case: ElementTree.Element) -> str:
    return ",".join(child.tag for child in case if child.tag != "system-out") or "passed"


@pytest.mark.parametrize("arguments", [[], ["tests"], ["-k", "order"], ["--strictly"]], ids=" ".join)
def test_their_tests_run_as_before(
    installed: Environment, without: Environment, other_project: Path, arguments: list[str]
) -> None:
    before = outcomes(without, other_project, *arguments)
    assert before[1], "nothing ran"
    assert outcomes(installed, other_project, *arguments) == before


def test_their_own_platform_option_stays_theirs(
    installed: Environment, without: Environment, other_project: Path
) -> None:
    before = outcomes(without, other_project, "--platform=other")
    assert before[1], "nothing ran"
    assert outcomes(installed, other_project, "--platform=other") == before


def test_an_option_of_both_is_a_usage_error(installed: Environment, other_project: Path) -> None:
    arguments = ["--platform=other", "--job=job.yaml"]
    done = installed.run("python", "-m", "pytest", *arguments, cwd=other_project, PYTHONPATH=".")
    assert done.returncode == pytest.ExitCode.USAGE_ERROR, done.stdout
    assert "gonogo: another plugin or a conftest.py here defines an option of gonogo's" in done.stdout
    assert "--platform" in done.stdout
    assert "Traceback" not in done.stdout


def test_check_works_from_their_folder(installed: Environment, other_project: Path) -> None:
    done = installed.run("gonogo", "check", "job.yaml", "--report", "readiness.json", cwd=other_project, PYTHONPATH=".")
    assert done.returncode == 0, done.stdout
    report = json.loads((other_project / "readiness.json").read_text())
    assert report["verdict"] == "GO"
    assert {row["id"] for row in report["rows"]} >= {"JOB-01", "NODE-01"}


def test_launch_works_from_their_folder(installed: Environment, other_project: Path) -> None:
    done = installed.run(
        "gonogo", "launch", "job.yaml", "--id", "theirs-1", "--watch", cwd=other_project, PYTHONPATH="."
    )
    assert done.returncode == 0, done.stdout
    assert "hello" in done.stdout


def test_checkout_beside_an_installed_copy_runs_its_own_code(installed: Environment, tmp_path: Path) -> None:
    checkout = copy_of_checkout(tmp_path / "checkout")
    catalogue = checkout / "fixtures" / "catalogue" / "node.py"
    text = catalogue.read_text()
    title = "The job's program, torchrun and Python packages are there"
    assert title in text
    catalogue.write_text(text.replace(title, "A title that only the checkout has"))
    (checkout / "job.yaml").write_text("name: mine\ncommand: echo hello\ngpus: 0\n")
    done = installed.run(
        "python", "-m", "pytest", "--platform=interactive", "--job=job.yaml", "--report=readiness.json", cwd=checkout
    )
    assert done.returncode == 0, done.stdout
    titles = {row["id"]: row["title"] for row in json.loads((checkout / "readiness.json").read_text())["rows"]}
    assert titles["NODE-01"] == "A title that only the checkout has"


def test_checkout_installed_in_place_serves_other_folders(without: Environment, tmp_path: Path) -> None:
    """As after `pip install -e`: the package is the checkout, and the entry point is known."""
    checkout = copy_of_checkout(tmp_path / "checkout")
    metadata = tmp_path / "links" / "gonogo-0.dist-info"
    metadata.mkdir(parents=True)
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: gonogo\nVersion: 0\n")
    (metadata / "entry_points.txt").write_text("[pytest11]\ngonogo = gonogo_pytest\n")
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    (folder / "job.yaml").write_text("name: mine\ncommand: echo hello\ngpus: 0\n")
    done = without.run(
        *("python", "-m", "pytest", "--job=job.yaml", "-p", "no:cacheprovider"),
        cwd=folder,
        PYTHONPATH=f"{checkout}:{metadata.parent}",
    )
    assert done.returncode == 0, done.stdout
    assert "GO  mine on interactive" in done.stdout
