"""pytest's JUnit XML, completed: a failure's `type` becomes the row's state.

See README.md, 'The verdict'.
"""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

from gonogo.reports.document import ReportError
from gonogo.reports.rows import State
from gonogo.reports.write import write_whole

_TYPED = {state.value for state in (State.FAILED, State.UNVERIFIED, State.BLOCKED, State.NOT_RUN)}


def set_failure_types(path: str | Path) -> None:
    """Set `type` on the failure of each test case that has the property `gonogo.state`; all else stays as it was.

    Raises ReportError where the file is missing, no XML, or cannot be written.
    """
    path = Path(path)
    try:
        tree = ElementTree.parse(path)
    except OSError as error:
        raise ReportError(f"{path}: cannot be read: {error.strerror or error}") from None
    except ElementTree.ParseError as error:
        raise ReportError(f"{path}: is not JUnit XML: {error}") from None
    for case in tree.getroot().iter("testcase"):
        state = _state(case)
        if state in _TYPED:
            for failure in case.findall("failure"):
                failure.set("type", state)
    write_whole(path, ElementTree.tostring(tree.getroot(), encoding="utf-8", xml_declaration=True).decode("utf-8"))


def _state(case: ElementTree.Element) -> str:
    found = [one.get("value", "") for one in case.iter("property") if one.get("name") == "gonogo.state"]
    return found[-1] if found else ""
