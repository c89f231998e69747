"""The content of a YAML file with the place of every key and value. Nodes do not change; edits give new ones."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

_INTEGER = re.compile(r"[-+]?(0|[1-9][0-9]{0,18})")
_FLOAT = re.compile(r"[-+]?[0-9]+\.[0-9]*([eE][-+]?[0-9]{1,3})?")
_TRUE, _FALSE, _NULL = ("true", "True", "TRUE"), ("false", "False", "FALSE"), ("", "~", "null", "Null", "NULL")

Plain = bool | int | float | str | list["Plain"] | dict[str, "Plain"] | None
Key = str | int


@dataclass(frozen=True)
class Place:
    """Where something was written. `line` and `column` count from 1; an option has neither."""

    file: str
    line: int = 0
    column: int = 0


@dataclass(frozen=True)
class Scalar:
    """A value as it was written. `plain` means without quotes; `expanded` that a `${VAR}` was filled in."""

    text: str
    plain: bool
    place: Place
    expanded: bool = False

    @property
    def value(self) -> bool | int | float | str | None:
        """The value by YAML 1.2's core rules; octal, hexadecimal, sexagesimal and `yes`/`no` stay text."""
        if not self.plain:
            return self.text
        if self.text in _NULL:
            return None
        if self.text in _TRUE or self.text in _FALSE:
            return self.text in _TRUE
        if _INTEGER.fullmatch(self.text):
            return int(self.text)
        if _FLOAT.fullmatch(self.text) and math.isfinite(float(self.text)):
            return float(self.text)
        return self.text

    @property
    def is_null(self) -> bool:
        return self.plain and self.text in _NULL


@dataclass(frozen=True)
class Entry:
    """One key of a mapping with its value."""

    key: str
    place: Place
    value: Node


@dataclass(frozen=True)
class Mapping:
    """Keys and values in the order of the file; no key stands twice."""

    entries: tuple[Entry, ...]
    place: Place

    def get(self, key: str) -> Node | None:
        found = self.entry(key)
        return found.value if found else None

    def entry(self, key: str) -> Entry | None:
        return next((entry for entry in self.entries if entry.key == key), None)

    def keys(self) -> list[str]:
        return [entry.key for entry in self.entries]

    def put(self, new: Entry) -> Mapping:
        """This mapping with that entry added, or in place of the one with the same key."""
        if self.entry(new.key) is None:
            return replace(self, entries=(*self.entries, new))
        return replace(self, entries=tuple(new if entry.key == new.key else entry for entry in self.entries))


@dataclass(frozen=True)
class Sequence:
    """A list."""

    items: tuple[Node, ...]
    place: Place


Node = Scalar | Mapping | Sequence


def to_plain(node: Node) -> Plain:
    """The node as ordinary Python values."""
    if isinstance(node, Mapping):
        return {entry.key: to_plain(entry.value) for entry in node.entries}
    if isinstance(node, Sequence):
        return [to_plain(item) for item in node.items]
    return node.value


def to_fields(node: Node) -> object:
    """The node as dicts and lists whose leaves are still `Scalar`: what the model's fields are made from."""
    if isinstance(node, Mapping):
        return {entry.key: to_fields(entry.value) for entry in node.entries}
    if isinstance(node, Sequence):
        return [to_fields(item) for item in node.items]
    return node


def walk(node: Node, path: tuple[Key, ...] = ()) -> Iterator[tuple[tuple[Key, ...], Place, Node]]:
    """Every node below that one: its path, the place of its key (for list items of the item), and itself."""
    if isinstance(node, Mapping):
        for entry in node.entries:
            yield (*path, entry.key), entry.place, entry.value
            yield from walk(entry.value, (*path, entry.key))
    elif isinstance(node, Sequence):
        for index, item in enumerate(node.items):
            yield (*path, index), item.place, item
            yield from walk(item, (*path, index))


def dotted(path: tuple[Key, ...]) -> str:
    """`inputs.0.uri`: the form in which faults, `lines` and `--set` name a key."""
    return ".".join(str(part) for part in path)
