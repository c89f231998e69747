"""A clearance stands in for a fresh run only where everything is the same, and it is young (GATE-02)."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from launch_desk import JOB, Desk, gate, opened, report

from gonogo.launcher.exits import Exit, Stop
from gonogo.platforms.faults import TimedOut
from gonogo.reports.rows import State

Edit = Callable[[dict[str, Any]], object]


def saved(folder: Path, document: dict[str, Any]) -> Path:
    path = folder / "clearance.json"
    path.write_text(json.dumps(document))
    return path


def test_same_job_platform_target_and_suite_is_let_through_without_a_run(tmp_path: Path) -> None:
    desk = Desk()
    job = opened(tmp_path, desk)
    launch = gate(tmp_path, job, clearance=saved(tmp_path, report(job, age=60)))
    launched = launch.gate.launch("one")
    assert launch.proven == []
    assert list(desk.jobs) == ["one"]
    assert launched.record.clearance["verdict"] == "GO"
    assert any("cleared by" in line for line in launch.said)


def moment(minutes: float) -> str:
    return (datetime.now(timezone.utc) + timedelta(minutes=minutes)).isoformat()


def row(document: dict[str, Any], row_id: str) -> dict[str, Any]:
    return next(one for one in document["rows"] if one["id"] == row_id)


REFUSED: dict[str, tuple[Edit, str]] = {
    "other job": (lambda d: d["job"].update(digest="sha256:0"), "other job content"),
    "no job": (lambda d: d.update(job=None), "without a job"),
    "other platform": (lambda d: d.update(platform="slurm"), "platform slurm"),
    "other address": (lambda d: d["target"].update(address="desk 2"), "the target desk 2"),
    "other identity": (lambda d: d["target"].update(identity="somebody"), "another target"),
    "no identity": (lambda d: d["target"].update(identity=""), "another target"),
    "other version": (lambda d: d["suite"].update(version="9.9"), "another version of the suite"),
    "other suite": (lambda d: d["suite"].update(digest="sha256:0"), "another version of the suite"),
    "too old": (lambda d: d.update(started=moment(-15.1)), "15 minutes old"),
    "old, but said to be valid": (lambda d: d.update(started=moment(-60), valid_until=moment(60)), "60 minutes old"),
    "from the future": (lambda d: d.update(started=moment(2)), "from the future"),
    "no time": (lambda d: d.update(started="soon"), "no readable time"),
    "time without zone": (lambda d: d.update(started="2026-12-01T10:00:00"), "no zone"),
    "verdict is not GO": (lambda d: d.update(verdict="NO-GO"), "ended NO-GO"),
    "a failed row called GO": (lambda d: row(d, "JOB-10").update(state="failed"), "its rows give NO-GO"),
    "a row taken out": (lambda d: d["rows"].remove(row(d, "JOB-10")), "its rows give INCOMPLETE"),
    "no rows": (lambda d: d.update(rows=[]), "its rows give INCOMPLETE"),
    "cut short": (lambda d: d.update(cut_short="interrupted"), "its rows give INCOMPLETE"),
    "a row called advisory": (
        lambda d: row(d, "JOB-10").update(state="warned", severity="advisory"),
        "its rows give NO-GO",
    ),
    "waived by the file alone": (
        lambda d: row(d, "JOB-10").update(state="waived", waiver={"reason": "r", "owner": "o", "until": "2099-01-01"}),
        "its rows give NO-GO",
    ),
}


@pytest.mark.parametrize(("edit", "reason"), REFUSED.values(), ids=REFUSED)
def test_refused_with_the_reason(tmp_path: Path, edit: Edit, reason: str) -> None:
    desk = Desk()
    job = opened(tmp_path, desk)
    document = report(job)
    edit(document)
    launch = gate(tmp_path, job, clearance=saved(tmp_path, document))
    with pytest.raises(Stop) as caught:
        launch.gate.launch("one")
    assert caught.value.code == Exit.NO_GO
    assert reason in caught.value.message
    assert (desk.submissions, launch.proven) == ([], [])


def test_report_of_an_edited_job_file_is_refused(tmp_path: Path) -> None:
    desk = Desk()
    clearance = saved(tmp_path, report(opened(tmp_path, desk)))
    with pytest.raises(Stop) as caught:
        gate(tmp_path, opened(tmp_path, desk, JOB + "env: {A: b}\n"), clearance=clearance).gate.launch("one")
    assert "other job content" in caught.value.message
    assert desk.submissions == []


def test_the_launch_id_is_no_job_content(tmp_path: Path) -> None:
    desk = Desk()
    clearance = saved(tmp_path, report(opened(tmp_path, desk)))
    assert gate(tmp_path, opened(tmp_path, desk, JOB + "id: one\n"), clearance=clearance).gate.launch("one").fresh


def test_silent_target_cannot_be_compared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    desk = Desk()
    job = opened(tmp_path, desk)
    clearance = saved(tmp_path, report(job))

    def silent() -> str:
        raise TimedOut("desk 1 does not answer")

    monkeypatch.setattr(desk, "identity", silent)
    with pytest.raises(Stop) as caught:
        gate(tmp_path, job, clearance=clearance).gate.launch("one")
    assert (caught.value.code, desk.submissions) == (Exit.NO_GO, [])
    assert "desk 1 does not answer" in caught.value.message


@pytest.mark.parametrize("text", ["", "{", "[]", '{"schema": "gonogo.readiness/2"}', '{"schema": "other"}'])
def test_file_that_is_no_report_is_a_usage_error(tmp_path: Path, text: str) -> None:
    path = tmp_path / "clearance.json"
    path.write_text(text)
    desk = Desk()
    with pytest.raises(Stop) as caught:
        gate(tmp_path, opened(tmp_path, desk), clearance=path).gate.launch("one")
    assert (caught.value.code, desk.submissions) == (Exit.USAGE, [])
    assert str(path) in caught.value.message


def test_deferred_rows_may_be_cleared(tmp_path: Path) -> None:
    desk = Desk()
    job = opened(tmp_path, desk, 'name: desk\ncommand: ["sh", "-c", ":"]\n')
    clearance = saved(tmp_path, report(job, {"JOB-10": State.DEFERRED}))
    gate(tmp_path, job, clearance=clearance).gate.launch("one")
    assert desk.submissions[0].preflight
