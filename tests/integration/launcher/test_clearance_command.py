"""`launch --clearance`: a report may stand in for a fresh run only where it is of this very launch (GATE-02)."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from gonogo_command import Gonogo

Document = dict[str, Any]


@pytest.fixture
def cleared(gonogo: Gonogo) -> Gonogo:
    """A job that was found GO, with its report in `go.json`. The job leaves `ran` behind."""
    (gonogo.folder / "input").write_text("x")
    job = gonogo.job(
        command=f"touch {gonogo.folder}/ran", inputs=[{"name": "input", "uri": str(gonogo.folder / "input")}]
    )
    gonogo.ok("check", job, "--report", "go.json")
    return gonogo


def launch(gonogo: Gonogo, *more: str) -> Any:
    return gonogo("launch", str(gonogo.folder / "job.yaml"), "--id", "c", "--clearance", "go.json", *more)


def test_clearance_stands_in_for_a_run(cleared: Gonogo) -> None:
    """The input is gone since: a fresh run would say NO-GO, and its clearance still holds."""
    (cleared.folder / "input").unlink()
    done = launch(cleared, "--watch")
    assert done.status == 0, done.said
    record = cleared.record("c")["clearance"]
    assert record["verdict"] == "GO"
    assert record["started"] == json.loads((cleared.folder / "go.json").read_text())["started"]
    assert cleared("launch", str(cleared.folder / "job.yaml"), "--id", "fresh").status == 1


def at(**ago: float) -> str:
    return (datetime.now(timezone.utc) - timedelta(**ago)).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def row_of(document: Document, name: str) -> dict[str, Any]:
    return next(row for row in document["rows"] if row["id"] == name)


#: The whole table is in the unit tests; these go the whole way.
CHANGES: dict[str, tuple[Callable[[Document], object], str]] = {
    "other machine": (lambda one: one["target"].update(identity="machine 0"), "another target"),
    "old": (lambda one: one.update(started=at(minutes=15, seconds=5), valid_until=at(days=-9)), "15 minutes old"),
    "failed row": (lambda one: row_of(one, "PATH-01").update(state="failed"), "its rows give NO-GO"),
    "row removed": (lambda one: one["rows"].remove(row_of(one, "PATH-01")), "its rows give INCOMPLETE"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_refused_clearance_submits_nothing(cleared: Gonogo, change: str) -> None:
    edit, reason = CHANGES[change]
    document = json.loads((cleared.folder / "go.json").read_text())
    edit(document)
    (cleared.folder / "go.json").write_text(json.dumps(document))
    done = launch(cleared)
    assert done.status == 1, done.said
    assert "may not be used" in done.err
    assert reason in done.err, done.said
    assert not list(cleared.state.glob("interactive/*"))


def test_truncated_report_is_a_usage_error(cleared: Gonogo) -> None:
    file = cleared.folder / "go.json"
    file.write_text(file.read_text()[:-100])
    done = launch(cleared)
    assert done.status == 2, done.said
    assert "is cut short" in done.err
    assert not list(cleared.state.glob("interactive/*"))


def test_other_content_by_an_option(cleared: Gonogo, tmp_path: Path) -> None:
    done = launch(cleared, "--set", "env.MORE=1")
    assert done.status == 1, done.said
    assert "other job content" in done.err
