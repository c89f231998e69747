from __future__ import annotations

import pytest

from gonogo.platforms.versions import compare, meets


@pytest.mark.parametrize(
    ("bound", "version", "holds"),
    [
        (">=580", "580.65.06", True),
        (">=580", "579.99", False),
        (">=580.100", "580.65.06", False),
        (">=13.0", "13", True),
        (">=1.19.0", "1.19.0-rc.2", True),
        ("580", "595.1", True),
        ("==13", "13.2", True),
        ("==13", "12.9", False),
        ("!=13.1", "13.1.4", False),
        (">580", "580", False),
        ("<=580.65", "580.65.00", True),
        (">=13.0,<14", "13.9", True),
        (">=13.0,<14", "14.0", False),
        (" >= v1.2 ", "v1.10", True),
    ],
)
def test_bounds(bound: str, version: str, holds: bool) -> None:
    assert meets(bound, version) is holds


@pytest.mark.parametrize(
    ("bound", "version"), [("newest", "1"), (">=", "1"), (">=1", ""), (">=1", "unknown"), ("~1", "1")]
)
def test_what_cannot_be_read_is_an_error(bound: str, version: str) -> None:
    with pytest.raises(ValueError, match="is not a version"):
        meets(bound, version)


def test_numbers_are_compared_as_numbers() -> None:
    assert [compare("1.9", "1.10"), compare("2", "2.0.0"), compare("10", "9.9")] == [-1, 0, 1]
