"""The fenced blocks of a Markdown document, with the marks that stand in a comment above them.

`<!-- file: NAME -->` is written to NAME. `<!-- exit: N -->` is the exit status of a block of commands, 0 without it.
`<!-- needs: docker -->` names a lane. `<!-- not run: REASON -->` leaves a block out. Marks are separated by `; `.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
KNOWN_MARKS = frozenset({"file", "exit", "needs", "not run"})
_COMMENT = re.compile(r"<!-- (.*) -->")
_MARK = re.compile(r"([a-z ]+?): (.*)")


@dataclass(frozen=True)
class Block:
    """One fenced block. `line` is that of its first line of text, counted from 1."""

    language: str
    text: str
    line: int
    marks: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Unit:
    """Blocks that are run one after another in one folder: a document, or a section of the README."""

    document: str
    title: str
    blocks: tuple[Block, ...]

    @property
    def name(self) -> str:
        return f"{self.document}:{self.title}" if self.title else self.document


def documents() -> list[Path]:
    """Every document a user reads."""
    return [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "SECURITY.md", *sorted((ROOT / "docs").glob("*.md"))]


def units() -> list[Unit]:
    """What is run together, for all documents; those without commands are left out."""
    found = []
    for path in documents():
        text = path.read_text(encoding="utf-8")
        if path.name == "README.md":
            found += [Unit(path.name, title, tuple(blocks)) for title, blocks in _sections(text)]
        else:
            found.append(Unit(str(path.relative_to(ROOT)), "", tuple(parse(text))))
    return [unit for unit in found if any(block.language == "sh" for block in unit.blocks)]


def parse(text: str, first_line: int = 1) -> list[Block]:
    """The blocks of a document. Raises ValueError for an unknown mark or a fence that is not closed."""
    blocks: list[Block] = []
    marks: dict[str, str] = {}
    opened: tuple[str, int] | None = None
    inside: list[str] = []
    for number, line in enumerate(text.splitlines(), first_line):
        if opened is not None:
            if line == "```":
                blocks.append(Block(opened[0], "\n".join(inside) + "\n", opened[1], marks))
                opened, inside, marks = None, [], {}
            else:
                inside.append(line)
        elif line.startswith("```"):
            opened = (line[3:].strip(), number + 1)
        elif comment := _COMMENT.fullmatch(line):
            marks = _marks(comment[1], number)
        elif line.strip():
            marks = {}
    if opened is not None:
        raise ValueError(f"the block at line {opened[1]} is not closed")
    return blocks


def _marks(text: str, number: int) -> dict[str, str]:
    marks: dict[str, str] = {}
    for part in text.split("; "):
        match = _MARK.fullmatch(part)
        if match is None or match[1] not in KNOWN_MARKS:
            raise ValueError(f"line {number}: {part!r} is no mark; one of {', '.join(sorted(KNOWN_MARKS))}")
        marks[match[1]] = match[2]
    return marks


def _sections(text: str) -> list[tuple[str, list[Block]]]:
    sections = []
    number = 1
    for section in re.split(r"^(?=## )", text, flags=re.MULTILINE):
        title = section.partition("\n")[0].removeprefix("## ").strip()
        sections.append((title, parse(section, number)))
        number += section.count("\n")
    return sections
