"""Every row of the catalogue has exactly one check, and every check in the checkout stands for a row of it."""

from __future__ import annotations

import ast
import importlib
from collections import Counter
from pathlib import Path

from gonogo.fixtures import PLUGINS
from gonogo.fixtures.catalogue import CATALOGUE, conformance
from gonogo.platforms.registry import NAMES

ROOT = Path(__file__).resolve().parents[3]

#: The rows of a run and the points of `gonogo conformance`.
ROWS = {**CATALOGUE, **{row.id: row for row in conformance.ROWS}}


def declared_rows() -> Counter[str]:
    """Row IDs in `@requirement("ID")` above the test functions of checks/."""
    rows: Counter[str] = Counter()
    for path in sorted((ROOT / "checks").rglob("test_*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef):
                rows.update(_row(decorator) for decorator in node.decorator_list if _row(decorator))
    return rows


def _row(decorator: ast.expr) -> str:
    if isinstance(decorator, ast.Call) and isinstance(decorator.func, ast.Name) and decorator.func.id == "requirement":
        first = decorator.args[0]
        return str(first.value) if isinstance(first, ast.Constant) else ""
    return ""


def test_each_row_has_one_check() -> None:
    rows = declared_rows()
    assert {row: count for row, count in rows.items() if count > 1} == {}, "declared more than once"
    assert sorted(set(ROWS) - set(rows)) == [], "rows without a check"
    assert sorted(set(rows) - set(ROWS)) == [], "checks without a row in the catalogue"


def test_rows_say_what_a_person_needs() -> None:
    for row in ROWS.values():
        assert row.where, row.id
        assert row.where <= set(NAMES), f"{row.id} names platforms that do not exist"
        for name in ("title", "why", "proof", "remedy"):
            assert getattr(row, name).strip(), f"{row.id} has no {name}"
        assert row.stage in ("static", "target", "arrival"), row.id
        assert not row.title.endswith("."), f"{row.id}: a title has no full stop"


def test_plugins_can_be_imported_and_hold_every_probe() -> None:
    for name in PLUGINS:
        importlib.import_module(name)
    folder = ROOT / "fixtures" / "probes"
    with_probes = {
        f"gonogo.fixtures.probes.{path.stem}" for path in folder.glob("*.py") if "@probe(" in path.read_text()
    }
    assert with_probes, "no probes at all"
    assert with_probes <= set(PLUGINS), "a module of probes that no run loads: name it in fixtures/__init__.py"
