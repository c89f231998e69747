"""The arrival stage: what was deferred is asked by the job's first step, and nothing unproven goes on (GATE-01)."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from launch_desk import Desk, gate, opened, report

from gonogo.launcher.exits import Exit, Stop
from gonogo.launcher.records import Records
from gonogo.platforms.contract import JobState, Status, Submission
from gonogo.platforms.faults import TimedOut
from gonogo.reports.rows import State

THERE = f'name: desk\ncommand: ["{sys.executable}", "-c", "pass"]\n'
MISSING = 'name: desk\ncommand: ["no-such-program-anywhere", "x"]\n'
DEFERRED = {"JOB-10": State.DEFERRED}


def test_job_without_deferred_rows_carries_no_preflight(tmp_path: Path) -> None:
    desk = Desk()
    gate(tmp_path, opened(tmp_path, desk)).gate.launch("one")
    assert desk.submissions[0].preflight == b""


def test_proven_on_arrival_goes_on_and_is_reported(tmp_path: Path) -> None:
    desk = Desk()
    launch = gate(tmp_path, opened(tmp_path, desk, THERE), DEFERRED)
    launched = launch.gate.launch("one")
    assert desk.submissions[0].preflight
    assert list(desk.jobs) == ["one"]
    assert launched.record.phase == "submitted"
    assert launched.record.clearance["deferred"] == ["JOB-10"]
    (kept,) = launch.kept
    (row,) = [row for row in kept["rows"] if row["id"] == "JOB-10"]
    assert (kept["verdict"], row["state"], row["stage"]) == ("GO", "passed", "arrival")


def test_broken_on_arrival_is_no_go_and_releases_the_place(tmp_path: Path) -> None:
    desk = Desk()
    launch = gate(tmp_path, opened(tmp_path, desk, MISSING), DEFERRED)
    with pytest.raises(Stop) as caught:
        launch.gate.launch("one")
    assert caught.value.code == Exit.NO_GO
    assert "no-such-program-anywhere" in caught.value.message
    assert (desk.jobs, desk.released) == ({}, ["one"])
    (kept,) = launch.kept
    assert kept["verdict"] == "NO-GO"
    assert [cause["id"] for cause in kept["causes"]] == ["JOB-10"]
    found = Records(tmp_path / "state").read("one")
    assert found is not None
    assert (found.phase, found.state) == ("ended", "Error")
    assert "no-such-program-anywhere" in found.reason


def test_job_that_ends_without_an_answer_is_no_go(tmp_path: Path) -> None:
    class Forgetful(Desk):
        def _taken(self, submission: Submission):  # type: ignore[no-untyped-def]
            job = super()._taken(submission)
            job.status, job.output = Status(JobState.COMPLETE, "exited", 0), b"something else\n"
            return job

    desk = Forgetful()
    launch = gate(tmp_path, opened(tmp_path, desk, THERE), DEFERRED)
    with pytest.raises(Stop) as caught:
        launch.gate.launch("one")
    assert caught.value.code == Exit.NO_GO
    assert desk.jobs == {}
    (row,) = [row for row in launch.kept[0]["rows"] if row["id"] == "JOB-10"]
    assert row["state"] == "unverified"


def test_short_silence_during_arrival_is_survived(tmp_path: Path) -> None:
    desk = Desk()
    desk.after = lambda: desk.mute.append(TimedOut("a moment"))
    assert gate(tmp_path, opened(tmp_path, desk, THERE), DEFERRED).gate.launch("one").fresh
    assert desk.mute == []


def test_job_that_could_not_be_removed_is_not_called_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gonogo.launcher.placing.ARRIVAL_PATIENCE", 0.0)
    desk = Desk()
    desk.after = lambda: desk.mute.extend([TimedOut("gone dark")] * 5)
    with pytest.raises(Stop) as caught:
        gate(tmp_path, opened(tmp_path, desk, THERE), DEFERRED).gate.launch("one")
    found = Records(tmp_path / "state").read("one")
    assert (caught.value.code, caught.value.remedy) == (Exit.REFUSED, "gonogo cancel one")
    assert "could not be removed: gone dark" in caught.value.message
    assert found is not None
    assert found.phase == "submitted"


def test_row_that_the_preflight_cannot_ask_stops_before_submission(tmp_path: Path) -> None:
    desk = Desk()
    with pytest.raises(Stop) as caught:
        gate(tmp_path, opened(tmp_path, desk), {"NODE-03": State.DEFERRED}).gate.launch("one")
    assert (caught.value.code, desk.submissions) == (Exit.HARNESS, [])
    assert "NODE-03" in caught.value.message


def test_strict_lets_nothing_wait_for_arrival(tmp_path: Path) -> None:
    desk = Desk()
    job = opened(tmp_path, desk, THERE)
    clearance = tmp_path / "clearance.json"
    clearance.write_text(json.dumps(report(job, DEFERRED)))
    with pytest.raises(Stop) as caught:
        gate(tmp_path, job, clearance=clearance, strict=True).gate.launch("one")
    assert (caught.value.code, desk.submissions) == (Exit.NO_GO, [])
