"""Every row of the catalogue is tested twice in a run of the suite: where its target is broken, and where it is fine.

The tests say so themselves: `done.broken("GPU-05", …)` asserts state, words, remedy and cause, `done.fine("GPU-05")`
that the row passed, `done.refused("JOB-01", …)` that the run never began. Here these calls are counted.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from gonogo.fixtures.catalogue import CATALOGUE

INTEGRATION = Path(__file__).resolve().parents[2] / "integration"
#: A row that is never a cause of its own: it waits on another by its nature.
ALWAYS_BLOCKED = {"DOCK-06"}


def rows_named(method: str) -> Iterator[str]:
    """The IDs that calls of that method of a finished run begin with."""
    for file in INTEGRATION.rglob("test_*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == method:
                # Only `fine` and `blocked` take several rows; of the others the first text is the row.
                arguments = node.args if method in ("fine", "blocked") else node.args[:1]
                for text in (one for argument in arguments for one in ast.walk(argument)):
                    if isinstance(text, ast.Constant) and isinstance(text.value, str):
                        yield text.value.partition("[")[0]


BROKEN = {*rows_named("broken"), *rows_named("refused")}
FINE = set(rows_named("fine"))
BLOCKED = set(rows_named("blocked"))


@pytest.mark.parametrize("row", CATALOGUE)
def test_row_is_proven_on_a_broken_and_on_a_sound_target(row: str) -> None:
    assert row in (BLOCKED if row in ALWAYS_BLOCKED else BROKEN), f"no test of a run breaks {row}"
    assert row in FINE, f"no test of a run shows {row} where it is fine"
