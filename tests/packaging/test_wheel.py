"""What is in the wheel, and that it works in a clean environment."""

from __future__ import annotations

import zipfile
from pathlib import Path

from tests.checkout import tracked_files
from tests.environments import Environment

FOLDERS = ("jobs", "platforms", "fixtures", "checks", "reports", "launcher")


def test_wheel_holds_every_file_of_the_package_and_nothing_else(wheel: Path) -> None:
    expected = {"gonogo_pytest.py"}
    for name in tracked_files():
        if name.startswith("gonogo/"):
            expected.add(name)
        elif name.split("/")[0] in FOLDERS:
            expected.add(f"gonogo/{name}")
    with zipfile.ZipFile(wheel) as archive:
        held = {name for name in archive.namelist() if ".dist-info/" not in name}
    assert sorted(expected - held) == [], "not in the wheel: see [tool.setuptools] in pyproject.toml"
    assert sorted(held - expected) == [], "in the wheel, and not committed"


def test_data_files_are_in_the_wheel(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        held = set(archive.namelist())
    for name in (
        "gonogo/platforms/probe/script.sh",
        "gonogo/reports/readiness.html.jinja",
        "gonogo/reports/readiness.schema.json",
        "gonogo/jobs/job.schema.json",
        "gonogo/checks/suite.ini",
        "gonogo/py.typed",
    ):
        assert name in held


def test_nothing_generic_lands_in_site_packages(installed: Environment) -> None:
    names = {entry.name for entry in installed.site_packages.iterdir()} - {"__pycache__", "libraries.pth"}
    others = {name for name in names if not (name.startswith("gonogo-") and name.endswith(".dist-info"))}
    assert others == {"gonogo", "gonogo_pytest.py"}


def test_every_module_can_be_imported(installed: Environment, tmp_path: Path) -> None:
    program = (
        "import pkgutil, importlib, gonogo\n"
        "names = [m.name for m in pkgutil.walk_packages(gonogo.__path__, 'gonogo.')"
        " if '.test_' not in m.name and not m.name.endswith('__main__') and '.probe.target_' not in m.name]\n"
        "[importlib.import_module(name) for name in names]\n"
        "print(len(names))\n"
    )
    done = installed.run("python", "-c", program, cwd=tmp_path)
    assert done.returncode == 0, done.stdout
    assert int(done.stdout.split()[-1]) > 40


def test_command_works(installed: Environment, tmp_path: Path) -> None:
    for command in (["--help"], ["list"], ["list", "--platform", "local-docker"], ["explain", "PATH-01"]):
        done = installed.run("gonogo", *command, cwd=tmp_path)
        assert done.returncode == 0, f"gonogo {' '.join(command)}\n{done.stdout}"
    done = installed.run("python", "-m", "gonogo", "--help", cwd=tmp_path)
    assert done.returncode == 0, done.stdout


def test_starter_is_checked_and_launched(installed: Environment, tmp_path: Path) -> None:
    for command in (
        ["init"],
        ["check", "job.yaml", "--report", "readiness.html"],
        ["launch", "job.yaml", "--id", "first-1", "--watch"],
        ["status", "first-1"],
    ):
        done = installed.run("gonogo", *command, cwd=tmp_path)
        assert done.returncode == 0, f"gonogo {' '.join(command)}\n{done.stdout}"
    assert (tmp_path / "readiness.html").is_file()


def test_pytest_takes_the_options(installed: Environment, tmp_path: Path) -> None:
    (tmp_path / "test_mine.py").write_text("def test_mine():\n    assert False\n")
    done = installed.run("python", "-m", "pytest", "--platform=interactive", "--collect-only", "-q", cwd=tmp_path)
    assert done.returncode == 0, done.stdout
    assert "test_paths.py" not in done.stdout, "rows that need a job must be left out"
    assert "test_mine" not in done.stdout, "the user's tests are no rows"
    assert "[interactive" in done.stdout
