"""Answer lines as they come back: `@gonogo NONCE INDEX NAME TEXT`, among whatever else was printed (banners)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from gonogo.platforms.faults import Garbled

#: What every answer line begins with; the nonce follows.
PREFIX = "@gonogo"


@dataclass
class Reply:
    """The lines of one question, by name, in order."""

    lines: dict[str, list[str]] = field(default_factory=dict)

    def first(self, name: str, default: str = "") -> str:
        found = self.lines.get(name)
        return found[0] if found else default

    def all(self, name: str) -> list[str]:
        return self.lines.get(name, [])

    def text(self, name: str) -> str:
        return "\n".join(self.all(name)).strip("\n")

    def __contains__(self, name: str) -> bool:
        return name in self.lines


def decode(raw: bytes) -> str:
    """Text for people: bytes that are no UTF-8 become U+FFFD."""
    return raw.decode("utf-8", errors="replace")


def replies(output: bytes, nonce: str) -> dict[str, Reply]:
    """All answer lines of that nonce, by index (a number, `all` or `end`)."""
    mark = f"{PREFIX} {nonce} ".encode()
    found: dict[str, Reply] = {}
    for raw in output.split(b"\n"):
        at = raw.find(mark)
        if at < 0:
            continue
        index, _, rest = decode(raw[at + len(mark) :].rstrip(b"\r")).partition(" ")
        name, _, text = rest.partition(" ")
        found.setdefault(index, Reply()).lines.setdefault(name, []).append(text)
    return found


def require_end(found: dict[str, Reply], asked: int, target: str, output: bytes) -> None:
    """Raise Garbled where the end line is missing: the script was cut short, never started, or its output was lost."""
    if "end" in found and found["end"].first("answers") == str(asked):
        return
    where = f" on {target}" if target else ""
    answered = sum(index.isdigit() for index in found)
    if not found:
        raise Garbled(f"the probe script printed no answer{where}", detail=last_words(output))
    raise Garbled(
        f"the probe script was cut short{where}: {answered} of {asked} questions have answers",
        detail=last_words(output),
    )


def last_words(output: bytes) -> str:
    """The last lines that are no answers, for the detail of a fault."""
    others = [decode(line) for line in output.split(b"\n") if line.strip() and PREFIX.encode() not in line]
    return "\n".join(others[-5:])


def error_line(text: str, closing_hints: Sequence[str] = ("for help", "--help", "Please also try")) -> str:
    """The true error line of a tool's output: the first that says something, not its closing hint."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    for line in lines:
        if not any(hint in line for hint in closing_hints):
            return line
    return lines[0] if lines else ""
