"""Rows that wait for the image, and that the job's first step cannot ask, are asked once the image is there."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from launch_desk import Desk, gate, opened, report

from gonogo.jobs.model import Job
from gonogo.launcher.exits import Exit, Stop
from gonogo.platforms.faults import Denied
from gonogo.reports.rows import State

#: A row of this platform that, unlike JOB-10, the in-job preflight has no question for.
WAITING = {"NODE-03": State.DEFERRED}


@dataclass
class Depot(Desk):
    """A desk that has to fetch the image first."""

    fetched: list[str] = field(default_factory=list)
    fault: Denied | None = None

    def prepare(self, job: Job, progress: Callable[[str], None]) -> bool:
        if self.fault is not None:
            raise self.fault
        progress("fetching")
        self.fetched.append(job.name)
        return True


def launch(folder: Path, desk: Desk, *answers: Mapping[str, State]) -> tuple[Any, list[Any]]:
    """A gate whose suite gives those answers one after the other, and the runs that it asked for."""
    job = opened(folder, desk)
    made = gate(folder, job)
    asked: list[bool] = []

    def prove(anew: bool = False) -> Mapping[str, Any]:
        asked.append(anew)
        return report(job, answers[len(asked) - 1])

    made.gate.prove = prove
    return made, asked


def test_waiting_rows_are_asked_again_and_then_the_job_is_submitted(tmp_path: Path) -> None:
    desk = Depot()
    made, asked = launch(tmp_path, desk, WAITING, {})
    assert made.gate.launch("one").fresh
    assert desk.fetched == ["desk"]
    assert asked == [False, True]
    assert desk.submissions[0].preflight == b""
    assert any("NODE-03" in line for line in made.said)


def test_row_that_does_not_hold_then_submits_nothing(tmp_path: Path) -> None:
    desk = Depot()
    made, _ = launch(tmp_path, desk, WAITING, {"NODE-03": State.FAILED})
    with pytest.raises(Stop) as caught:
        made.gate.launch("one")
    assert caught.value.code == Exit.NO_GO
    assert desk.submissions == []


def test_image_that_cannot_be_had_submits_nothing(tmp_path: Path) -> None:
    desk = Depot(fault=Denied("the registry refused", remedy="docker login"))
    made, _ = launch(tmp_path, desk, WAITING)
    with pytest.raises(Stop) as caught:
        made.gate.launch("one")
    assert (caught.value.code, caught.value.remedy) == (Exit.REFUSED, "docker login")
    assert desk.submissions == []


def test_row_that_nobody_can_ask_submits_nothing(tmp_path: Path) -> None:
    desk = Desk()
    made, asked = launch(tmp_path, desk, WAITING)
    with pytest.raises(Stop) as caught:
        made.gate.launch("one")
    assert caught.value.code == Exit.HARNESS
    assert "NODE-03" in caught.value.message
    assert asked == [False]
    assert desk.submissions == []


def test_row_that_the_first_step_asks_is_left_to_it(tmp_path: Path) -> None:
    desk = Depot()
    made, asked = launch(tmp_path, desk, {"JOB-10": State.DEFERRED})
    made.gate.launch("one")
    assert desk.fetched == []
    assert asked == [False]
    assert desk.submissions[0].preflight
