"""Sizes and durations."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gonogo.jobs.sizes import format_duration, format_size, parse_duration, parse_size


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("40 GiB", 40 * 1024**3),
        ("40GB", 40 * 1000**3),
        ("1 KiB", 1024),
        ("1 KB", 1000),
        ("1.5 TiB", 3 * 1024**4 // 2),
        ("2 TB", 2 * 1000**4),
        ("1 PiB", 1024**5),
        ("3 gib", 3 * 1024**3),
        ("512", 512),
        (" 512 B ", 512),
        (512, 512),
        ("0", 0),
    ],
)
def test_sizes_mean_what_they_say(text: str | int, size: int) -> None:
    assert parse_size(text) == size


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("-1 GiB", "negative"),
        (-1, "negative"),
        ("40 G", "GiB (1024-based) or GB (1000-based)"),
        ("40 GBi", "did you mean"),
        ("40 gigs", "did you mean G"),
        ("40 foo", "did you mean GiB"),
        ("much", "not a size"),
        ("", "not a size"),
        ("1.5", "unit is missing"),
        ("1e3", "not a size"),
        ("inf GiB", "not a size"),
        ("4 0 GiB", "not a size"),
        ("٤ GiB", "not a size"),
    ],
)
def test_other_sizes_are_refused_with_a_reason(text: str | int, reason: str) -> None:
    with pytest.raises(ValueError, match=r".") as caught:
        parse_size(text)
    assert reason in str(caught.value)


@given(st.integers(0, 2**60), st.sampled_from(["", "B", "KiB", "MiB", "GiB", "KB", "MB", "GB"]))
def test_whole_sizes_are_exact(number: int, unit: str) -> None:
    factor = {"": 1, "B": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "KB": 10**3, "MB": 10**6, "GB": 10**9}[unit]
    assert parse_size(f"{number} {unit}") == number * factor


@pytest.mark.parametrize(
    ("size", "text"), [(0, "0 B"), (1023, "1023 B"), (1024, "1 KiB"), (42949672960, "40 GiB"), (1610612736, "1.5 GiB")]
)
def test_sizes_are_shown_for_people(size: int, text: str) -> None:
    assert format_size(size) == text


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("10:30:00", 37_800),
        ("1-12:00:00", 129_600),
        ("1-12", 129_600),
        ("1-12:30", 131_400),
        ("90", 5_400),
        (90, 5_400),
        ("90:30", 5_430),
        ("90m", 5_400),
        ("90min", 5_400),
        ("2h30m", 9_000),
        ("2h 30m", 9_000),
        ("45s", 45),
        ("3d", 259_200),
        ("04:00:00", 14_400),
        ("100:00:00", 360_000),
    ],
)
def test_durations(text: str | int, seconds: int) -> None:
    assert parse_duration(text) == seconds


@pytest.mark.parametrize(
    "text", ["", "soon", "10:61:00", "10:00:75", "-5m", "1:2:3:4", "0", "0m", "5x", "m", "1-2-3", "२h", "1.5h"]
)
def test_other_durations_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"time|59"):
        parse_duration(text)


@given(st.integers(1, 10**7))
def test_a_shown_duration_reads_back(seconds: int) -> None:
    assert parse_duration(format_duration(seconds)) == seconds
