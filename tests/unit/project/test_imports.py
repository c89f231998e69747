"""Imports point one way: jobs <- platforms <- fixtures <- checks; reports is alone; nobody imports the launcher."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]

#: Folder -> the other folders of ours that it may import.
MAY_IMPORT = {
    "jobs": set[str](),
    "reports": set[str](),
    "platforms": {"jobs"},
    "fixtures": {"jobs", "platforms", "reports"},
    "checks": {"jobs", "platforms", "reports", "fixtures"},
    "launcher": {"jobs", "platforms", "reports", "fixtures", "checks"},
}
#: Usable from any Python program.
WITHOUT_PYTEST = ("jobs", "platforms", "reports")


def imported(source: str, package: str) -> Iterator[tuple[int, str]]:
    """(line, dotted name) of every import, also inside functions; relative ones made absolute from `package`."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, alias.name
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                above = package.split(".")[: len(package.split(".")) - node.level + 1]
                base = ".".join([*above, base] if base else above)
            for alias in node.names:
                yield node.lineno, f"{base}.{alias.name}"


def violations(root: Path, folder: str) -> list[str]:
    """`file:line imports name`, for every import in that folder which the arrows do not allow."""
    found = []
    for path in sorted((root / folder).rglob("*.py")):
        inside = path.relative_to(root)
        package = ".".join(("gonogo", *inside.parent.parts))
        for line, name in imported(path.read_text(encoding="utf-8"), package):
            parts = name.split(".")
            ours = parts[1] if parts[0] == "gonogo" and len(parts) > 1 else ""
            foreign_layer = ours in MAY_IMPORT and ours != folder and ours not in MAY_IMPORT[folder]
            pytest_here = parts[0] in ("pytest", "_pytest") and folder in WITHOUT_PYTEST
            if foreign_layer or pytest_here:
                found.append(f"{inside}:{line} imports {name}")
    return found


@pytest.mark.parametrize("folder", MAY_IMPORT)
def test_imports_point_one_way(folder: str) -> None:
    assert (ROOT / folder).is_dir()
    assert violations(ROOT, folder) == []


@pytest.mark.parametrize(
    ("folder", "line", "name"),
    [
        ("jobs", "from gonogo.platforms.faults import Fault", "gonogo.platforms.faults.Fault"),
        ("jobs", "import pytest", "pytest"),
        ("reports", "from gonogo.jobs import model", "gonogo.jobs.model"),
        ("platforms", "def f():\n    from gonogo.fixtures.run import Run", "gonogo.fixtures.run.Run"),
        ("platforms", "from _pytest.config import Config", "_pytest.config.Config"),
        ("fixtures", "from gonogo import launcher", "gonogo.launcher"),
        ("checks", "from ..launcher import gate", "gonogo.launcher.gate"),
    ],
)
def test_a_wrong_import_is_seen(tmp_path: Path, folder: str, line: str, name: str) -> None:
    (tmp_path / folder).mkdir()
    (tmp_path / folder / "wrong.py").write_text(f"{line}\n")
    number = line.count("\n") + 1
    assert violations(tmp_path, folder) == [f"{folder}/wrong.py:{number} imports {name}"]
