"""A launched job afterwards: status, cancel, the watch to its end (GATE-05, GATE-06, GATE-09)."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from launch_desk import Desk, DeskJob

from gonogo.launcher.exits import Exit, Stop
from gonogo.launcher.follow import asked, cancel, copy_log, status_of
from gonogo.launcher.records import Record, Records
from gonogo.launcher.watch import Watch
from gonogo.platforms.contract import JobState, Status
from gonogo.platforms.faults import Fault, TimedOut, Unreachable

RUNNING = Status(JobState.RUNNING, "running")


class Scripted(Desk):
    """Answers the states given, one for each question; the last again and again. A Fault is raised."""

    def __init__(self, *answers: Status | Fault, log: list[bytes | Fault] | None = None) -> None:
        super().__init__(jobs={"one": DeskJob("sha256:1", RUNNING)})
        self.answers = list(answers)
        self.log = log or []

    def status(self, native_id: str) -> Status:
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, Fault):
            raise answer
        return answer

    def logs(self, native_id: str, *, tail: int | None = None, follow: bool = False) -> Iterator[bytes]:
        for chunk in self.log:
            if isinstance(chunk, Fault):
                raise chunk
            yield chunk


def recorded(folder: Path, **fields: Any) -> tuple[Records, Record]:
    records = Records(folder)
    target = {"address": "desk 1", "identity": "desk-one"}
    record = Record("one", "submitted", {"digest": "sha256:1"}, "interactive", target, native_id="one", **fields)
    records.write(record)
    return records, record


def watch(folder: Path, desk: Desk, **options: Any) -> tuple[Status, list[str], bytes]:
    records, record = recorded(folder)
    said: list[str] = []
    out = io.BytesIO()
    status = Watch(records, record, desk, said.append, out, **options).run()
    return status, said, out.getvalue()


def done(code: int) -> Status:
    return Status(JobState.ERROR if code else JobState.COMPLETE, "exited", code, f"exit code {code}" if code else "")


@pytest.mark.parametrize(("code", "state"), [(0, "Complete"), (3, "Error")])
def test_states_are_told_once_each_and_the_end_is_recorded(tmp_path: Path, code: int, state: str) -> None:
    pending = Status(JobState.PENDING, "created", reason="image pull in progress")
    status, said, out = watch(tmp_path, Scripted(pending, RUNNING, RUNNING, done(code), log=[b"\xc3", b"\xbc\n"]))
    assert (status.state.value, status.exit_code) == (state, code)
    assert said == [
        "one Pending (created): image pull in progress",
        "one Running (running)",
        f"one {state} (exited, exit code {code})",
    ]
    assert out == "ü\n".encode()
    kept = Records(tmp_path).read("one")
    assert kept is not None
    assert (kept.phase, kept.state, kept.exit_code) == ("ended", state, code)


def test_silence_is_unknown_and_survived(tmp_path: Path) -> None:
    silent = Unreachable("the daemon is away")
    status, said, _ = watch(tmp_path, Scripted(RUNNING, silent, silent, RUNNING, done(0)))
    assert status.state is JobState.COMPLETE
    assert said[1:3] == ["one Unknown: the daemon is away", "one Running (running)"]


def test_long_silence_is_given_up_and_leaves_the_record(tmp_path: Path) -> None:
    with pytest.raises(Stop) as caught:
        watch(tmp_path, Scripted(TimedOut("no answer")), silence=0.0)
    kept = Records(tmp_path).read("one")
    assert (caught.value.code, caught.value.remedy) == (Exit.HARNESS, "gonogo status one")
    assert kept is not None
    assert kept.phase == "submitted"


def test_log_that_breaks_does_not_hide_the_end(tmp_path: Path) -> None:
    status, said, out = watch(tmp_path, Scripted(done(3), log=[b"half a line", TimedOut("log away")]))
    assert (status.exit_code, out) == (3, b"half a line")
    assert "the log cannot be followed further: log away" in said


def test_removed_by_hand_is_an_error_that_says_so(tmp_path: Path) -> None:
    desk = Desk()
    status, said, _ = watch(tmp_path, desk)
    assert (status.state, status.exit_code) == (JobState.ERROR, None)
    assert "removed by hand" in said[-1]


def test_end_that_was_seen_stays_when_the_job_is_gone(tmp_path: Path) -> None:
    records, record = recorded(tmp_path)
    assert status_of(records, record, Scripted(done(3))).exit_code == 3
    assert status_of(records, record, Desk()) == Status(JobState.ERROR, "exited", 3, "exit code 3")


def test_another_target_is_unknown_and_ends_nothing(tmp_path: Path) -> None:
    records, record = recorded(tmp_path)
    other = Desk(who="desk-two")
    with pytest.raises(Stop) as caught:
        status_of(records, record, other)
    assert caught.value.code == Exit.HARNESS
    assert "Unknown" in caught.value.message
    with pytest.raises(Unreachable):
        asked(record, other)
    assert records.read("one") == record
    assert record.phase == "submitted"


def test_cancel_is_proven_and_recorded(tmp_path: Path) -> None:
    records, record = recorded(tmp_path)
    desk = Desk(jobs={"one": DeskJob("sha256:1", RUNNING)})
    assert cancel(records, record, desk, 1.0).state is JobState.CANCELED
    kept = records.read("one")
    assert kept is not None
    assert (kept.phase, kept.state, kept.canceled_by_user) == ("ended", "Canceled", True)
    assert cancel(records, record, Desk(), 1.0).state is JobState.CANCELED


@pytest.mark.parametrize("answer", [TimedOut("still there"), Status(JobState.CANCELING, "stopping")])
def test_cancel_that_is_not_proven_is_no_success(tmp_path: Path, answer: Fault | Status) -> None:
    class Stubborn(Desk):
        def cancel(self, native_id: str, *, grace: float = 10.0) -> Status:
            if isinstance(answer, Fault):
                raise answer
            return answer

    records, record = recorded(tmp_path)
    with pytest.raises(Stop) as caught:
        cancel(records, record, Stubborn(jobs={"one": DeskJob("sha256:1", RUNNING)}), 1.0)
    kept = records.read("one")
    assert caught.value.code == Exit.HARNESS
    assert "not proven" in caught.value.message
    assert kept is not None
    assert kept.phase == "submitted"


def test_cancel_of_an_ended_job_keeps_its_end(tmp_path: Path) -> None:
    records, record = recorded(tmp_path)
    assert cancel(records, record, Scripted(done(3)), 1.0).exit_code == 3
    assert not record.canceled_by_user


def test_killed_by_our_cancel_is_canceled_for_a_watch_in_another_process(tmp_path: Path) -> None:
    records, _ = recorded(tmp_path)
    canceling = records.read("one")
    assert canceling is not None
    with records.editing(canceling):
        canceling.canceled_by_user = True
    stale = Record("one", "submitted", {}, "interactive", {"identity": "desk-one"}, native_id="one")
    said: list[str] = []
    status = Watch(records, stale, Scripted(done(137)), said.append, None).run()
    assert (status.state, status.exit_code) == (JobState.CANCELED, 137)


def test_log_without_preflight_lines_keeps_every_byte(tmp_path: Path) -> None:
    out = io.BytesIO()
    chunks: list[bytes | Fault] = [
        b"@gonogo n1 preflight began yes\n@gonogo n1 prefl",
        b"ight passed yes\nfirst\n\xff\x00",
    ]
    copy_log(Scripted(RUNNING, log=chunks), "one", out, tail=None, follow=False)
    assert out.getvalue() == b"first\n\xff\x00"
