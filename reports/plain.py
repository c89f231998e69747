"""Text from targets made harmless to look at: nothing in it may move a cursor, hide or turn the reading direction."""

from __future__ import annotations

import re

#: Control characters but newline and tab, bidirectional controls, invisible separators, surrogates, tags.
_UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060\u2066-\u2069\ufeff"
    "\ud800-\udfff\ufffe\uffff\U000e0000-\U000e007f]"
)


def visible(text: str) -> str:
    """The text with every unseen character shown as a sign: ESC as `␛`, a right-to-left override as `⟨U+202E⟩`."""
    return _UNSEEN.sub(_shown, text.replace("\r\n", "\n"))


def one_line(text: str) -> str:
    """`visible`, with line breaks as `⏎`, so that it fits a line of a list or a cell of a table."""
    return visible(text).strip().replace("\n", " ⏎ ").replace("\t", " ")


def cut(text: str, limit: int) -> str:
    """At most about `limit` characters, saying so where some are left out. The beginning is kept."""
    if len(text) <= limit:
        return text
    return f"{text[:limit]} … [cut: {len(text) - limit:,} more characters]"


def _shown(match: re.Match[str]) -> str:
    code = ord(match.group(0))
    if code < 0x20:
        return chr(0x2400 + code)
    return "␡" if code == 0x7F else f"⟨U+{code:04X}⟩"
