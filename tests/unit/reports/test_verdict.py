"""The verdict: from the expected set, fail closed."""

from __future__ import annotations

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st
from report_samples import TODAY, attestation, expect, row, waiver

from gonogo.reports.rows import Row, Severity, State
from gonogo.reports.verdict import GO, INCOMPLETE, NO_GO, WORST_FIRST, judge

REQUIRED, ADVISORY = Severity.REQUIRED, Severity.ADVISORY
PASSED = row("JOB-01")

#: (state, severity) -> verdict, without and with --strict. A passed required row stands beside it.
TABLE = [
    (State.PASSED, REQUIRED, GO, GO),
    (State.FAILED, REQUIRED, NO_GO, NO_GO),
    (State.WARNED, REQUIRED, GO, GO),
    (State.UNVERIFIED, REQUIRED, NO_GO, NO_GO),
    (State.BLOCKED, REQUIRED, NO_GO, NO_GO),
    (State.ERROR, REQUIRED, NO_GO, NO_GO),
    (State.DEFERRED, REQUIRED, GO, NO_GO),
    (State.ATTESTED, REQUIRED, GO, GO),
    (State.WAIVED, REQUIRED, GO, GO),
    (State.NOT_RUN, REQUIRED, INCOMPLETE, INCOMPLETE),
    (State.PASSED, ADVISORY, GO, GO),
    (State.FAILED, ADVISORY, GO, GO),
    (State.WARNED, ADVISORY, GO, GO),
    (State.UNVERIFIED, ADVISORY, GO, GO),
    (State.BLOCKED, ADVISORY, GO, GO),
    (State.ERROR, ADVISORY, NO_GO, NO_GO),
    (State.DEFERRED, ADVISORY, GO, GO),
    (State.ATTESTED, ADVISORY, GO, GO),
    (State.WAIVED, ADVISORY, GO, GO),
    (State.NOT_RUN, ADVISORY, GO, GO),
]


def test_the_table_has_every_state_and_severity() -> None:
    assert {(state, severity) for state, severity, _, _ in TABLE} == {(a, b) for a in State for b in Severity}
    assert set(WORST_FIRST) == set(State)


@pytest.mark.parametrize(("state", "severity", "lenient", "strict"), TABLE)
def test_each_state_at_each_severity(state: State, severity: Severity, lenient: str, strict: str) -> None:
    rows = [PASSED, row("GPU-04", state, severity=severity)]
    assert judge(rows, expect(*rows)).word == lenient
    assert judge(rows, expect(*rows), strict=True).word == strict


@pytest.mark.parametrize("expected", [[], expect(row("GPU-08", severity=ADVISORY))])
def test_nothing_required_is_never_go(expected: list) -> None:
    verdict = judge([row("X-01")], expected)
    assert verdict.word == INCOMPLETE
    assert "nothing was proven" in verdict.because


def test_a_missing_pair_is_added_as_not_run_in_its_place() -> None:
    wanted = [row("A-01"), row("PATH-01", param="/a"), row("PATH-01", param="/b"), row("Z-01")]
    verdict = judge([wanted[3], wanted[1], wanted[0]], expect(*wanted))
    assert verdict.word == INCOMPLETE
    assert [one.name for one in verdict.rows] == ["A-01", "PATH-01[/a]", "PATH-01[/b]", "Z-01"]
    assert verdict.rows[2].state is State.NOT_RUN
    assert verdict.because == "1 of 4 requirements has no answer: PATH-01[/b]"
    assert verdict.causes == []


def test_cut_short_is_incomplete_even_when_all_were_answered() -> None:
    verdict = judge([PASSED], expect(PASSED), cut_short="interrupted")
    assert verdict.word == INCOMPLETE
    assert "interrupted" in verdict.because


def test_what_definitely_failed_beats_what_is_missing() -> None:
    failed = row("GPU-01", State.FAILED, message="driver 470 is too old")
    verdict = judge([failed], expect(failed, row("GPU-02")), cut_short="interrupted")
    assert verdict.word == NO_GO
    assert verdict.because == ("driver 470 is too old; 1 requirement has no answer; the run was cut short: interrupted")


@pytest.mark.parametrize("order", [1, -1])
@pytest.mark.parametrize("worse", [State.FAILED, State.ERROR, State.UNVERIFIED, State.NOT_RUN])
def test_of_duplicates_the_worst_wins(worse: State, order: int) -> None:
    twice = [row("GPU-01"), row("GPU-01", worse)][::order]
    verdict = judge(twice, expect(twice[0]))
    assert [one.state for one in verdict.rows] == [worse]
    assert not verdict.go


def test_blocked_rows_hang_under_their_root() -> None:
    rows = [
        row("PATH-01", State.FAILED, param="/a", message="missing"),
        row("DOCK-01", State.FAILED, message="Docker daemon refused the key", remedy="ssh-add"),
        row("DOCK-02", State.BLOCKED),
        row("GPU-04", State.BLOCKED),
        row("GPU-05", State.BLOCKED, cause="GPU-04"),
    ]
    verdict = judge(rows, expect(*rows))
    assert [(one.id, one.remedy, one.blocks) for one in verdict.causes] == [
        ("DOCK-01", "ssh-add", ["DOCK-02", "GPU-04", "GPU-05"]),
        ("PATH-01", "", []),
    ]
    assert verdict.causes[1].name == "PATH-01[/a]"
    assert verdict.because == "Docker daemon refused the key; 3 further requirements wait on it; 1 other cause"


@pytest.mark.parametrize(
    "rows",
    [
        [row("GPU-04", State.BLOCKED, cause="DOCK-01")],
        [row("DOCK-01"), row("GPU-04", State.BLOCKED, cause="DOCK-01")],
        [row("GPU-04", State.BLOCKED, cause=None)],
        [row("GPU-04", State.BLOCKED, cause="GPU-04")],
        [row("A-01", State.BLOCKED, cause="B-01"), row("B-01", State.BLOCKED, cause="A-01")],
    ],
    ids=["absent", "holds", "none", "itself", "ring"],
)
def test_a_blocked_row_without_a_failed_cause_still_blocks(rows: list[Row]) -> None:
    verdict = judge(rows, expect(*rows))
    assert verdict.word == NO_GO
    assert verdict.causes[0].cause == "blocked by DOCK-01: no answer"
    blocked = {one.name for one in rows if one.state is State.BLOCKED}
    assert {name for cause in verdict.causes for name in cause.blocks} == blocked


def test_a_row_that_took_itself_lightly_is_held_to_the_expected_severity() -> None:
    light = row("GPU-07", State.FAILED, severity=ADVISORY)
    verdict = judge([PASSED, light], expect(PASSED, row("GPU-07")))
    assert verdict.word == NO_GO
    assert verdict.rows[1].state is State.FAILED


def test_a_failed_row_that_nobody_expected_blocks_too() -> None:
    assert judge([PASSED, row("OWN-01", State.FAILED)], expect(PASSED)).word == NO_GO


def test_go_says_what_it_rests_on() -> None:
    rows = [
        PASSED,
        row("A-01", State.DEFERRED),
        row("A-02", State.WAIVED),
        row("A-03", State.ATTESTED),
        row("A-04", State.FAILED, severity=ADVISORY),
    ]
    verdict = judge(rows, expect(*rows), has_job=False)
    assert verdict.go
    assert verdict.because == (
        "1 requirement holds; 1 will be proven on arrival; 1 is attested; 1 is waived; 1 warning"
        " (platform readiness, no job)"
    )
    assert verdict.counts == {"warned": 1, "deferred": 1, "waived": 1, "attested": 1, "passed": 1}


def test_the_rows_given_stay_as_they_are() -> None:
    advisory = row("A-04", State.FAILED, severity=ADVISORY)
    judge([advisory], expect(advisory))
    assert advisory.state is State.FAILED


@pytest.mark.parametrize(
    "record",
    [
        None,
        {},
        {"kind": "waiver", "was": "failed", "reason": "r", "owner": "", "until": "2026-12-31"},
        {"kind": "waiver", "was": "failed", "reason": "r", "owner": "o"},
        {"kind": "waiver", "was": "failed", "reason": "r", "owner": "o", "until": "for ever"},
        {"kind": "attestation", "was": "failed", "reason": "r", "owner": "o"},
    ],
)
def test_a_waived_row_without_a_proper_record_is_not_waived(record: dict | None) -> None:
    waived = row("GPU-02", State.WAIVED, waiver=record)
    assert judge([waived], expect(waived)).word == NO_GO


def test_an_attestation_of_a_proven_failure_does_not_hold() -> None:
    record = {"kind": "attestation", "was": "failed", "reason": "r", "owner": "o"}
    vouched = row("PATH-01", State.ATTESTED, waiver=record)
    assert judge([vouched], expect(vouched)).word == NO_GO


def test_a_saved_waiver_ends_with_its_day() -> None:
    waived = row("GPU-02", State.WAIVED)
    assert judge([waived], expect(waived), today=date(2026, 12, 31)).word == GO
    assert judge([waived], expect(waived), today=date(2027, 1, 1)).word == NO_GO


def test_given_lists_decide_again_what_a_saved_report_says() -> None:
    rows = [row("GPU-02", State.WAIVED), row("PATH-01", State.ATTESTED, param="/x")]
    wanted = expect(*rows)
    both = {"waivers": [waiver("GPU-02")], "attested": [attestation("PATH-01", "/x")], "today": TODAY}
    assert judge(rows, wanted, **both).word == GO
    assert judge(rows, wanted, **{**both, "waivers": []}).word == NO_GO
    assert judge(rows, wanted, **{**both, "attested": []}).word == NO_GO
    with pytest.raises(ValueError, match="date"):
        judge(rows, wanted, waivers=[])


rows_strategy = st.lists(
    st.builds(
        row,
        st.sampled_from(["DOCK-01", "GPU-01", "GPU-04", "PATH-01", "PATH-02"]),
        st.sampled_from(list(State)),
        param=st.sampled_from(["", "/a", "/b"]),
        severity=st.sampled_from(list(Severity)),
        cause=st.sampled_from([None, "DOCK-01", "GPU-04", "PATH-01", "NO-99"]),
    ),
    max_size=8,
)
BLOCKING = [State.FAILED, State.UNVERIFIED, State.BLOCKED, State.ERROR, State.NOT_RUN]


@given(rows=rows_strategy, bad=st.sampled_from(BLOCKING), strict=st.booleans(), at=st.integers(0, 8))
def test_adding_a_required_row_that_does_not_hold_never_leaves_go(
    rows: list[Row], bad: State, strict: bool, at: int
) -> None:
    added = row("NEW-01", bad)
    more = [*rows[:at], added, *rows[at:]]
    assert judge(more, expect(*rows), strict=strict).word != GO
    assert judge(more, expect(*more), strict=strict).word != GO


@given(rows=rows_strategy, gap=st.integers(0, 7), strict=st.booleans())
def test_losing_a_required_row_never_gives_go(rows: list[Row], gap: int, strict: bool) -> None:
    lost = row("NEW-01")
    assert judge(rows, expect(*rows, lost), strict=strict).word != GO


@given(rows=rows_strategy, cut=st.sampled_from([None, "interrupted"]))
def test_every_verdict_accounts_for_itself(rows: list[Row], cut: str | None) -> None:
    verdict = judge(rows, expect(*rows), cut_short=cut)
    assert sum(verdict.counts.values()) == len(verdict.rows) == len({one.key for one in rows})
    assert (verdict.word == NO_GO) == bool(verdict.causes)
    assert verdict.because
    assert "\n" not in verdict.because
