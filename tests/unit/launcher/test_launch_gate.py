"""The gate: GO before anything, one job for one ID whatever was there before and whatever interrupts (GATE-01, 03)."""

from __future__ import annotations

from pathlib import Path

import pytest
from launch_desk import JOB, Desk, gate, opened

from gonogo.launcher.exits import Exit, Stop
from gonogo.launcher.records import Record, Records
from gonogo.platforms.contract import JobState
from gonogo.platforms.faults import LaunchLost, LaunchRefused, TimedOut
from gonogo.reports.redact import Redactor
from gonogo.reports.rows import State

SECRET = "hf_0123456789abcdefghijklmnop"


def stopped(launch: object, launch_id: str = "one") -> Stop:
    with pytest.raises(Stop) as caught:
        launch.gate.launch(launch_id)  # type: ignore[attr-defined]
    return caught.value


def record(folder: Path, launch_id: str = "one") -> Record | None:
    return Records(folder / "state").read(launch_id)


def intent(folder: Path, desk: Desk, digest: str) -> None:
    """What a launcher leaves that was killed right before or after its submission."""
    target = {"address": desk.where, "identity": desk.who}
    job = {"name": "desk", "file": "", "digest": digest}
    Records(folder / "state").write(Record("one", "intent", job, "interactive", target))


def test_go_is_submitted_and_recorded(tmp_path: Path) -> None:
    desk = Desk()
    launched = gate(tmp_path, opened(tmp_path, desk)).gate.launch("one")
    found = record(tmp_path)
    assert launched.fresh
    assert list(desk.jobs) == ["one"]
    assert found == launched.record
    assert (found.phase, found.native_id, found.clearance["verdict"]) == ("submitted", "one", "GO")
    assert found.target == {"address": "desk 1", "identity": "desk-one"}


@pytest.mark.parametrize("state", [State.FAILED, State.UNVERIFIED, State.BLOCKED, State.ERROR, State.NOT_RUN])
def test_anything_but_go_submits_nothing_and_leaves_no_record(tmp_path: Path, state: State) -> None:
    desk = Desk()
    stop = stopped(gate(tmp_path, opened(tmp_path, desk), {"JOB-10": state}))
    assert stop.code == Exit.NO_GO
    assert desk.submissions == []
    assert record(tmp_path) is None


def test_review_is_shown_before_the_suite_runs(tmp_path: Path) -> None:
    order: list[str] = []
    launch = gate(tmp_path, opened(tmp_path, Desk()))
    suite = launch.gate.prove
    launch.gate.show_review = lambda launch_id: order.append(f"review of {launch_id}")
    launch.gate.prove = lambda: (order.append("suite"), suite())[1]
    launch.gate.launch("one")
    assert order == ["review of one", "suite"]


def test_same_id_and_job_again_is_the_same_job(tmp_path: Path) -> None:
    desk = Desk()
    job = opened(tmp_path, desk)
    gate(tmp_path, job).gate.launch("one")
    again = gate(tmp_path, job)
    launched = again.gate.launch("one")
    assert (launched.fresh, len(desk.submissions), again.proven) == (False, 1, [])
    assert "already launched" in launched.note


def test_same_id_with_other_content_is_refused(tmp_path: Path) -> None:
    desk = Desk()
    gate(tmp_path, opened(tmp_path, desk)).gate.launch("one")
    stop = stopped(gate(tmp_path, opened(tmp_path, desk, JOB + "env: {A: b}\n")))
    assert (stop.code, len(desk.submissions)) == (Exit.USAGE, 1)
    assert "another job" in stop.message


def test_same_id_on_another_target_is_refused(tmp_path: Path) -> None:
    first, second = Desk(), Desk(where="desk 2", who="desk-two")
    gate(tmp_path, opened(tmp_path, first)).gate.launch("one")
    stop = stopped(gate(tmp_path, opened(tmp_path, second)))
    assert (stop.code, second.submissions) == (Exit.USAGE, [])
    assert "desk 1" in stop.message


def test_replace_runs_an_ended_id_again_also_with_other_content(tmp_path: Path) -> None:
    desk = Desk()
    gate(tmp_path, opened(tmp_path, desk)).gate.launch("one")
    desk.end("one", JobState.ERROR, 3)
    launched = gate(tmp_path, opened(tmp_path, desk, JOB + "env: {A: b}\n"), replace=True).gate.launch("one")
    assert (launched.fresh, launched.record.attempt) == (True, 2)
    assert (desk.released, len(desk.submissions)) == (["one"], 2)


def test_replace_leaves_a_running_job_alone(tmp_path: Path) -> None:
    desk = Desk()
    job = opened(tmp_path, desk)
    gate(tmp_path, job).gate.launch("one")
    assert not gate(tmp_path, job, replace=True).gate.launch("one").fresh
    elsewhere = stopped(gate(tmp_path, job, state_folder="state2", replace=True))
    assert elsewhere.code == Exit.USAGE
    assert "has not ended" in elsewhere.message
    assert desk.released == []


def test_job_that_was_launched_from_another_state_folder_is_adopted(tmp_path: Path) -> None:
    desk = Desk()
    job = opened(tmp_path, desk)
    gate(tmp_path, job, state_folder="state2").gate.launch("one")
    launched = gate(tmp_path, job).gate.launch("one")
    found = record(tmp_path)
    assert (launched.fresh, len(desk.submissions)) == (False, 1)
    assert found is not None
    assert (found.phase, found.native_id) == ("submitted", "one")


def test_foreign_job_under_the_id_is_refused(tmp_path: Path) -> None:
    desk = Desk()
    gate(tmp_path, opened(tmp_path, desk, JOB + "env: {A: b}\n"), state_folder="state2").gate.launch("one")
    stop = stopped(gate(tmp_path, opened(tmp_path, desk)))
    assert (stop.code, len(desk.submissions)) == (Exit.USAGE, 1)
    assert record(tmp_path) is None


def test_interrupted_after_submission_is_adopted(tmp_path: Path) -> None:
    desk = Desk()
    job = opened(tmp_path, desk)
    gate(tmp_path, job, state_folder="state2").gate.launch("one")
    intent(tmp_path, desk, job.loaded.digest)
    again = gate(tmp_path, job)
    launched = again.gate.launch("one")
    assert (launched.fresh, launched.record.phase, len(desk.submissions)) == (False, "submitted", 1)
    assert again.proven == []


def test_interrupted_before_submission_is_submitted_once(tmp_path: Path) -> None:
    desk = Desk()
    job = opened(tmp_path, desk)
    intent(tmp_path, desk, "sha256:of an earlier version of the file")
    assert gate(tmp_path, job).gate.launch("one").fresh
    assert len(desk.submissions) == 1


def test_silent_platform_after_an_interruption_stops_the_launch(tmp_path: Path) -> None:
    desk = Desk(mute=[TimedOut("desk 1 does not answer")])
    job = opened(tmp_path, desk)
    intent(tmp_path, desk, job.loaded.digest)
    stop = stopped(gate(tmp_path, job))
    assert (stop.code, desk.submissions) == (Exit.HARNESS, [])
    assert "desk 1 does not answer" in stop.message


def test_another_machine_with_the_same_records_does_not_answer_for_the_job(tmp_path: Path) -> None:
    desk = Desk()
    intent(tmp_path, desk, "sha256:x")
    other = Desk(who="desk-one's new owner")
    stop = stopped(gate(tmp_path, opened(tmp_path, other)))
    assert (stop.code, other.submissions) == (Exit.HARNESS, [])
    assert "desk-one's new owner" in stop.message


def test_refusal_is_recorded_and_may_be_tried_again(tmp_path: Path) -> None:
    def refuse() -> None:
        raise LaunchRefused("no room", detail="queue full", remedy="come back later")

    desk = Desk(before=refuse)
    job = opened(tmp_path, desk)
    stop = stopped(gate(tmp_path, job))
    found = record(tmp_path)
    assert (stop.code, stop.remedy) == (Exit.REFUSED, "come back later")
    assert "no room (queue full)" in stop.message
    assert found is not None
    assert (found.phase, found.reason, found.native_id) == ("refused", "no room", None)
    assert gate(tmp_path, opened(tmp_path, Desk())).gate.launch("one").fresh


@pytest.mark.parametrize("silences", [0, 2])
def test_lost_submission_that_was_taken_is_adopted(tmp_path: Path, silences: int) -> None:
    desk = Desk()

    def lose() -> None:
        desk.mute = [TimedOut("still nothing")] * silences
        raise LaunchLost("the line went dead")

    desk.after = lose
    launched = gate(tmp_path, opened(tmp_path, desk)).gate.launch("one")
    assert (launched.record.phase, len(desk.submissions)) == ("submitted", 1)


def test_lost_submission_that_was_not_taken_says_so(tmp_path: Path) -> None:
    def lose() -> None:
        raise LaunchLost("the line went dead")

    stop = stopped(gate(tmp_path, opened(tmp_path, Desk(before=lose))))
    assert stop.code == Exit.REFUSED
    assert "the platform knows no such job" in stop.message


def test_lost_submission_of_a_silent_platform_is_not_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gonogo.launcher.placing.LOST_PATIENCE", 0.0)
    desk = Desk()

    def lose() -> None:
        desk.mute = [TimedOut("still nothing")] * 3
        raise LaunchLost("the line went dead")

    desk.after = lose
    job = opened(tmp_path, desk)
    stop = stopped(gate(tmp_path, job))
    found = record(tmp_path)
    assert (stop.code, stop.remedy) == (Exit.REFUSED, "gonogo status one")
    assert found is not None
    assert found.phase == "intent"
    desk.mute = []
    assert not gate(tmp_path, job).gate.launch("one").fresh
    assert len(desk.submissions) == 1


@pytest.mark.parametrize(
    ("moment", "words", "phase"),
    [("before", "no job was made", "refused"), ("after", "job one exists", "submitted")],
)
def test_interruption_says_whether_a_job_exists(tmp_path: Path, moment: str, words: str, phase: str) -> None:
    def interrupt() -> None:
        raise KeyboardInterrupt

    desk = Desk()
    setattr(desk, moment, interrupt)
    launch = gate(tmp_path, opened(tmp_path, desk))
    with pytest.raises(KeyboardInterrupt):
        launch.gate.launch("one")
    assert words in launch.gate.after_interruption("one")
    found = record(tmp_path)
    assert found is not None
    assert found.phase == phase


def test_interruption_during_the_suite_made_no_job(tmp_path: Path) -> None:
    launch = gate(tmp_path, opened(tmp_path, Desk()))

    def interrupt() -> dict[str, object]:
        raise KeyboardInterrupt

    launch.gate.prove = interrupt
    with pytest.raises(KeyboardInterrupt):
        launch.gate.launch("one")
    assert launch.gate.after_interruption("one") == "no job was made"
    assert record(tmp_path) is None


def test_interruption_while_the_platform_is_silent_is_not_known(tmp_path: Path) -> None:
    desk = Desk()

    def interrupt() -> None:
        desk.mute = [TimedOut("nothing")]
        raise KeyboardInterrupt

    desk.after = interrupt
    launch = gate(tmp_path, opened(tmp_path, desk))
    with pytest.raises(KeyboardInterrupt):
        launch.gate.launch("one")
    assert "is not known: gonogo status one" in launch.gate.after_interruption("one")


def test_secrets_are_handed_over_and_nothing_else_of_the_environment(tmp_path: Path) -> None:
    desk = Desk()
    environment = {"HF_TOKEN": SECRET, "UNRELATED": "x"}
    job = opened(tmp_path, desk, JOB + "env: {PLAIN: a, MY_TOKEN: b-literal}\ncredentials: [HF_TOKEN]\n", environment)
    gate(tmp_path, job, environment=environment).gate.launch("one")
    (submission,) = desk.submissions
    assert submission.environment == {"PLAIN": "a"}
    assert submission.secrets == {"HF_TOKEN": SECRET, "MY_TOKEN": "b-literal"}
    assert SECRET not in repr(submission)
    kept = "".join(path.read_text() for path in (tmp_path / "state").rglob("*") if path.is_file())
    assert SECRET not in kept
    assert "b-literal" not in kept


def test_credential_that_is_not_set_submits_nothing(tmp_path: Path) -> None:
    desk = Desk()
    job = opened(tmp_path, desk, JOB + "credentials: [HF_TOKEN]\n")
    stop = stopped(gate(tmp_path, job))
    assert (stop.code, desk.submissions, record(tmp_path)) == (Exit.USAGE, [], None)
    assert "HF_TOKEN" in stop.message


def test_secret_in_a_refusal_is_not_recorded(tmp_path: Path) -> None:
    def refuse() -> None:
        raise LaunchRefused(f"bad token {SECRET}")

    launch = gate(tmp_path, opened(tmp_path, Desk(before=refuse)))
    launch.gate.records = Records(tmp_path / "state", Redactor().text)
    stopped(launch)
    assert SECRET not in (tmp_path / "state" / "launches" / "one.json").read_text()
