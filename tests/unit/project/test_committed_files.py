"""What is committed speaks of the project alone: no path of a machine, no package index. Modules stay small."""

from __future__ import annotations

import re

import pytest

from tests.checkout import ROOT, tracked_files

LONGEST = 400

#: Files that may be longer, each with the reason.
LONGER: dict[str, str] = {}

# Written with [.] and [/] so that this file does not hold what it looks for.
FORBIDDEN = {
    "a path of a developer's machine": r"(?<![\w.$}-])/(?:work|root|Users|home[/](?!user\b|me\b)\w+)[/]",
    "a package index": r"pypi[.]org|pythonhosted[.]org|[/]opt[/]wheels|npmjs[.]org|debian[.]org",
    "an index option": r"(?m)^--(?:index-url|extra-index-url|find-links|trusted-host)\b",
    "words about how it was written": r"\bC[E]O\b|\bsub-?a[g]ent\b|shared[/](?:spec|reference|design)\b",
}


def text_of(name: str) -> str:
    """The file's text, empty for a binary one."""
    data = (ROOT / name).read_bytes()
    return "" if b"\0" in data else data.decode("utf-8", "replace")


def findings(name: str, text: str) -> list[str]:
    """`file:line: what it holds`."""
    return [
        f"{name}:{text.count(chr(10), 0, match.start()) + 1}: {what}: {match[0]}"
        for what, pattern in FORBIDDEN.items()
        for match in re.finditer(pattern, text)
    ]


def test_nothing_of_a_workplace_is_committed() -> None:
    found = [finding for name in tracked_files() for finding in findings(name, text_of(name))]
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    "text",
    ["see |work|main", "|root|.cache", "in |home|anna|src", "https:||pypi~org|simple", "--find-links=x", "|opt|wheels"],
)
def test_what_must_not_be_committed_is_seen(text: str) -> None:
    assert findings("x", text.replace("|", "/").replace("~", "."))


def test_modules_stay_small() -> None:
    lines = {name: text_of(name).count("\n") for name in tracked_files() if name.endswith((".py", ".sh"))}
    long = {name: count for name, count in lines.items() if count >= LONGEST}
    assert {name: count for name, count in long.items() if name not in LONGER} == {}
    assert set(LONGER) <= set(long), "no longer too long: take it from the list"


def test_licence_and_typed_marker_are_there() -> None:
    assert "Apache License" in (ROOT / "LICENSE").read_text()
    assert (ROOT / "gonogo" / "py.typed").is_file()
