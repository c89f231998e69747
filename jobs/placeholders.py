"""Words that a person meant to replace: `<your_account>`, `TODO`, `changeme` (row JOB-09)."""

from __future__ import annotations

import re

from gonogo.jobs.expand import is_shell_text
from gonogo.jobs.faults import JobFault
from gonogo.jobs.nodes import Node, Scalar, dotted, walk

_ANGLED = re.compile(r"<[A-Za-z][A-Za-z0-9 _./-]*>")
_ANGLED_YOURS = re.compile(r"<(?:your|my|the)[ _-][A-Za-z0-9 _./-]*>", re.IGNORECASE)
_WORD = re.compile(
    r"(?<![A-Za-z0-9])(?:TODO|FIXME|TBD|CHANGE[-_]?ME|REPLACE[-_]?ME|change[-_]?me|replace[-_]?me)(?![A-Za-z0-9]|-[0-9])"
)
_WHOLE = re.compile(r"(?:todo|fixme|tbd|x{3,}|change[-_ ]?me|replace[-_ ]?me)", re.IGNORECASE)
_CROSSES = re.compile(r"(?:^|[/:@=])[xX]{3,}(?:$|[/:@])")
_YOURS = re.compile(
    r"(?<![A-Za-z0-9])your[-_ ][A-Za-z0-9_ -]*(?:here|name|token|key|account|bucket|id)(?![A-Za-z0-9])", re.I
)


def placeholder_in(text: str, *, shell: bool = False) -> str:
    """The placeholder that the text holds, or nothing. In shell text `<name>` may be a redirection and is let pass."""
    whole = None if shell else _WHOLE.fullmatch(text.strip())
    if whole:
        return whole.group()
    patterns = (_ANGLED_YOURS, _YOURS) if shell else (_ANGLED, _WORD, _CROSSES, _YOURS)
    found = next((match for pattern in patterns if (match := pattern.search(text))), None)
    return found.group().strip("/:@=") if found else ""


def placeholder_faults(root: Node) -> list[JobFault]:
    """One fault for each value that holds a placeholder."""
    faults = []
    for path, _, node in walk(root):
        if isinstance(node, Scalar):
            found = placeholder_in(node.text, shell=is_shell_text(path))
            if found:
                place = node.place
                message = f"the placeholder '{found[:60]}' was not replaced"
                faults.append(
                    JobFault(
                        "JOB-09", place.file, place.line, place.column, dotted(path), message, "write the real value"
                    )
                )
    return faults
