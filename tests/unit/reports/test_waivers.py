"""Attestations and waivers on rows."""

from __future__ import annotations

from datetime import date

import pytest
from report_samples import TODAY, attestation, row, waiver

from gonogo.reports.rows import Severity, State
from gonogo.reports.waivers import apply, withdraw


@pytest.mark.parametrize("state", list(State))
def test_an_attestation_covers_only_what_is_unverified(state: State) -> None:
    one = row("GPU-02", state)
    apply([one], [attestation("GPU-02")], [], TODAY)
    assert one.state is (State.ATTESTED if state is State.UNVERIFIED else state)


@pytest.mark.parametrize("state", list(State))
def test_a_waiver_covers_what_failed_or_is_unverified(state: State) -> None:
    one = row("GPU-02", state)
    apply([one], [], [waiver("GPU-02")], TODAY)
    assert one.state is (State.WAIVED if state in (State.FAILED, State.UNVERIFIED) else state)


def test_the_row_keeps_its_words_and_says_what_it_was() -> None:
    one = row("GPU-02", State.FAILED, message="12.8 is too old", remedy="upgrade")
    apply([one], [], [waiver("GPU-02")], TODAY)
    assert (one.message, one.remedy) == ("12.8 is too old", "upgrade")
    assert one.waiver == {
        "kind": "waiver",
        "was": "failed",
        "reason": "ticket 12",
        "owner": "ops",
        "until": "2026-12-31",
    }
    withdraw(one)
    assert one.state is State.FAILED
    assert one.waiver is None


def test_a_proven_failure_beats_an_attestation_and_says_so() -> None:
    one = row("GPU-02", State.FAILED)
    apply([one], [attestation("GPU-02")], [], TODAY)
    assert one.state is State.FAILED
    assert "proven not to hold" in one.evidence[-1].text


@pytest.mark.parametrize(("until", "state"), [(TODAY, State.WAIVED), (date(2026, 11, 30), State.FAILED)])
def test_a_waiver_holds_through_its_last_day(until: date, state: State) -> None:
    one = row("GPU-02", State.FAILED)
    apply([one], [], [waiver("GPU-02", until=until)], TODAY)
    assert one.state is state
    if state is State.FAILED:
        assert "ended on 2026-11-30" in one.evidence[-1].text


def test_without_a_parameter_it_covers_no_parameters() -> None:
    one = row("PATH-01", State.UNVERIFIED, param="/lustre/set")
    apply([one], [attestation("PATH-01")], [waiver("PATH-01")], TODAY)
    assert one.state is State.UNVERIFIED
    assert "write param: /lustre/set" in one.evidence[-1].text
    before = list(one.evidence)
    apply([one], [attestation("PATH-01")], [waiver("PATH-01")], TODAY)
    assert one.evidence == before


def test_another_parameter_is_not_covered() -> None:
    one = row("PATH-01", State.UNVERIFIED, param="/b")
    apply([one], [attestation("PATH-01", "/a")], [waiver("PATH-01", "/a")], TODAY)
    assert one.state is State.UNVERIFIED


def test_an_advisory_row_needs_no_waiver() -> None:
    one = row("GPU-08", State.UNVERIFIED, severity=Severity.ADVISORY)
    apply([one], [attestation("GPU-08")], [waiver("GPU-08")], TODAY)
    assert one.state is State.UNVERIFIED
