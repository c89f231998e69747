"""Failure types in pytest's own JUnit XML, from the state that each test case carries."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from gonogo.reports.document import ReportError
from gonogo.reports.junit import set_failure_types

CHECKS = """
import pytest

@pytest.mark.parametrize("state", ["failed", "unverified", "blocked", "not-run"])
def test_state(state, record_property):
    record_property("gonogo.state", state)
    assert False, "caf\\u00e9 <&>"

def test_foreign():
    assert False

def test_passed(record_property):
    record_property("gonogo.state", "passed")
"""


@pytest.fixture
def junit(tmp_path: Path) -> Path:
    (tmp_path / "test_states.py").write_text(CHECKS, encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:gonogo", "-p", "no:cacheprovider", "--rootdir", "."]
    subprocess.run([*command, "--junit-xml=junit.xml"], cwd=tmp_path, capture_output=True, timeout=60, check=False)
    return tmp_path / "junit.xml"


def failure_types(path: Path) -> dict[str, str | None]:
    cases = ElementTree.parse(path).getroot().iter("testcase")
    return {
        case.get("name", ""): failure.get("type") for case in cases if (failure := case.find("failure")) is not None
    }


def test_types_are_the_states_and_all_else_stays(junit: Path) -> None:
    before = ElementTree.parse(junit).getroot()
    assert set(failure_types(junit).values()) == {None}
    set_failure_types(junit)
    assert failure_types(junit) == {
        "test_state[failed]": "failed",
        "test_state[unverified]": "unverified",
        "test_state[blocked]": "blocked",
        "test_state[not-run]": "not-run",
        "test_foreign": None,
    }
    after = ElementTree.parse(junit).getroot()
    for element in after.iter("failure"):
        element.attrib.pop("type", None)
    assert ElementTree.tostring(after) == ElementTree.tostring(before)
    set_failure_types(junit)
    assert failure_types(junit)["test_state[blocked]"] == "blocked"


@pytest.mark.parametrize("text", [None, "", "<testsuites>"])
def test_a_file_that_is_no_xml_is_named(text: str | None, tmp_path: Path) -> None:
    path = tmp_path / "junit.xml"
    if text is not None:
        path.write_text(text)
    with pytest.raises(ReportError, match=r"junit\.xml"):
        set_failure_types(path)
