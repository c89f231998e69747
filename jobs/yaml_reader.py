"""Reads YAML so that every key and value keeps its place, and YAML's traps become faults (row JOB-09).

PyYAML 6 supplies scanner and parser; nodes are built here. Its resolver (YAML 1.1) is not used, because it makes
37800 of `10:30:00` and True of `on`. Everything is bounded: file size, depth, and what aliases expand to.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import yaml

from gonogo.jobs.faults import JobFault
from gonogo.jobs.nodes import Entry, Mapping, Node, Place, Scalar, Sequence

MAX_BYTES = 1024 * 1024
MAX_DEPTH = 40
MAX_NODES = 50_000

_UNPRINTABLE = re.compile("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_NOT_TEXT = re.compile("[\0\ud800-\udfff]")
_TEXT_TAGS = {"!", "tag:yaml.org,2002:str"}
_MERGE = "<<"


@dataclass(frozen=True)
class _Built:
    """A node, how many nodes it is made of and how many levels it has, both once aliases are expanded."""

    node: Node
    size: int = 1
    height: int = 0


class _ReadError(Exception):
    """A fault after which nothing more can be read."""

    def __init__(self, fault: JobFault) -> None:
        super().__init__(str(fault))
        self.fault = fault


def read_yaml(data: bytes, file: str) -> tuple[Mapping | None, list[JobFault]]:
    """The one mapping that the file holds, or None where it cannot be read, and every fault. Never raises."""
    try:
        return _Reader(_decode(data, file), file).read()
    except _ReadError as stop:
        return None, [stop.fault]


def read_value(text: str, file: str) -> tuple[Node | None, list[JobFault]]:
    """One value on its own, such as the right side of `--set KEY=VALUE`; the empty text is an empty scalar."""
    try:
        node, faults = _Reader(_decode(text.encode("utf-8", "surrogatepass"), file), file).read_any()
    except _ReadError as stop:
        return None, [_without_place(stop.fault)]
    return _moved(node or Scalar("", True, Place(file)), Place(file)), [_without_place(fault) for fault in faults]


def read_list(data: bytes, file: str) -> tuple[Sequence | None, list[JobFault]]:
    """The one list that the file holds, or None where it cannot be read, and every fault. Never raises."""
    try:
        node, faults = _Reader(_decode(data, file), file).read_any()
    except _ReadError as stop:
        return None, [stop.fault]
    if node is None or isinstance(node, Sequence):
        return node or Sequence((), Place(file, 1, 1)), faults
    return None, [*faults, _fault("JOB-01", node.place, "the file must hold a list", "begin each entry with '- '")]


def _decode(data: bytes, file: str) -> str:
    if len(data) > MAX_BYTES:
        raise _ReadError(_fault("JOB-01", Place(file), f"the file is larger than {MAX_BYTES // 1024} KiB"))
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raise _ReadError(_fault("JOB-09", Place(file, 1, 1), "the file is UTF-16", "save it as UTF-8"))
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        before = data[: error.start].decode("utf-8", "replace")
        raise _ReadError(
            _fault("JOB-09", _end_of(before, file), "the file is not UTF-8 from here on", "save it as UTF-8")
        ) from None
    text = text.removeprefix("\ufeff")
    bad = _UNPRINTABLE.search(text)
    if bad:
        kind = "a NUL byte" if bad.group() == "\0" else f"a control character (U+{ord(bad.group()):04X})"
        raise _ReadError(_fault("JOB-09", _end_of(text[: bad.start()], file), f"the file holds {kind}", "remove it"))
    return text


def _end_of(text: str, file: str) -> Place:
    """The place just behind that text."""
    return Place(file, text.count("\n") + 1, len(text) - text.rfind("\n"))


def _fault(row: str, place: Place, message: str, hint: str = "", key: str = "") -> JobFault:
    return JobFault(row, place.file, place.line, place.column, key, message, hint)


def _without_place(fault: JobFault) -> JobFault:
    return JobFault(fault.row, fault.file, 0, 0, fault.key, fault.message, fault.hint)


def _moved(node: Node, place: Place) -> Node:
    if isinstance(node, Mapping):
        return Mapping(tuple(Entry(e.key, place, _moved(e.value, place)) for e in node.entries), place)
    if isinstance(node, Sequence):
        return Sequence(tuple(_moved(item, place) for item in node.items), place)
    return Scalar(node.text, node.plain, place)


class _Reader:
    """Builds nodes from PyYAML's events. One document, one pass."""

    def __init__(self, text: str, file: str) -> None:
        self.text = text
        self.file = file
        self.faults: list[JobFault] = []
        self.anchors: dict[str, _Built | None] = {}
        self.count = 0
        self.loader = yaml.SafeLoader(text)
        self.events = self._events()

    def read(self) -> tuple[Mapping | None, list[JobFault]]:
        node, faults = self.read_any()
        if node is None or (isinstance(node, Scalar) and node.is_null):
            return None, [*faults, _fault("JOB-01", Place(self.file, 1, 1), "the file is empty", "run: gonogo init")]
        if not isinstance(node, Mapping):
            message = "the file must hold keys and values"
            return None, [*faults, _fault("JOB-01", node.place, message, "write lines such as 'image: …'")]
        return node, faults

    def read_any(self) -> tuple[Node | None, list[JobFault]]:
        node: Node | None = None
        documents = 0
        for event in self.events:
            if isinstance(event, yaml.DocumentStartEvent):
                documents += 1
                if documents > 1:
                    place = self._place(event)
                    raise _ReadError(_fault("JOB-09", place, "a second document begins here", "keep one job in a file"))
                node = self._node(next(self.events), 0).node
        return node, self.faults

    def _events(self) -> Iterator[Any]:
        """PyYAML's events; whatever goes wrong in it becomes one fault with a place."""
        try:
            while self.loader.check_event():
                yield self.loader.get_event()  # type: ignore[no-untyped-call]
        except yaml.MarkedYAMLError as error:
            raise _ReadError(self._syntax_fault(error)) from None
        except Exception:
            # PyYAML lets plain errors through for odd escapes and directives (chr(), int()); none may reach the user.
            place = Place(self.file, self.loader.line + 1, self.loader.column + 1)
            raise _ReadError(_fault("JOB-01", place, "not valid YAML here")) from None

    def _syntax_fault(self, error: yaml.MarkedYAMLError) -> JobFault:
        mark = error.problem_mark or error.context_mark
        place = Place(self.file, mark.line + 1, mark.column + 1) if mark else Place(self.file)
        problem = error.problem or "cannot be read"
        line = self.text.split("\n")[mark.line] if mark and mark.line < self.text.count("\n") + 1 else ""
        if "'\\t'" in problem:
            return _fault("JOB-09", place, "a tab is used for indentation", "indent with spaces")
        if "${" in line and re.search(r"[{\[,]\s*[^'\"]*\$\{", line):
            hint = 'inside { } and [ ] put quotes around it: "${VAR}"'
            return _fault("JOB-01", place, f"not valid YAML: {problem}", hint)
        hint = "quote the value if it holds ': '" if "mapping values are not allowed" in problem else ""
        return _fault("JOB-01", place, f"not valid YAML: {problem}", hint)

    def _place(self, event: Any) -> Place:
        return Place(self.file, event.start_mark.line + 1, event.start_mark.column + 1)

    def _node(self, event: Any, depth: int) -> _Built:
        """What begins with that event."""
        place = self._place(event)
        if isinstance(event, yaml.AliasEvent):
            return self._alias(event, place, depth)
        self._check_depth(depth, place)
        if event.anchor:
            self.anchors[event.anchor] = None  # known but not complete: an alias inside would refer to itself
        self._check_tag(event, place)
        built = self._build(event, place, depth)
        if event.anchor:
            self.anchors[event.anchor] = built
        return built

    def _build(self, event: Any, place: Place, depth: int) -> _Built:
        self._grow(1, place)
        if isinstance(event, yaml.ScalarEvent):
            return _Built(self._scalar(event, place))
        if isinstance(event, yaml.SequenceStartEvent):
            return self._sequence(place, depth)
        return self._mapping(place, depth)

    def _check_depth(self, depth: int, place: Place) -> None:
        if depth > MAX_DEPTH:
            raise _ReadError(_fault("JOB-09", place, f"nested more than {MAX_DEPTH} levels deep"))

    def _grow(self, by: int, place: Place) -> None:
        self.count += by
        if self.count > MAX_NODES:
            message = f"the file expands to more than {MAX_NODES} values"
            raise _ReadError(_fault("JOB-09", place, message, "write fewer aliases (*name) and merges (<<)"))

    def _alias(self, event: Any, place: Place, depth: int) -> _Built:
        if event.anchor not in self.anchors:
            raise _ReadError(_fault("JOB-01", place, f"no anchor '&{event.anchor}' stands before this alias"))
        found = self.anchors[event.anchor]
        if found is None:
            raise _ReadError(_fault("JOB-09", place, f"the alias '*{event.anchor}' refers to itself"))
        self._grow(found.size, place)
        self._check_depth(depth + found.height, place)
        return found

    def _check_tag(self, event: Any, place: Place) -> None:
        tag = event.tag
        allowed = _TEXT_TAGS if isinstance(event, yaml.ScalarEvent) else {"!"}
        if tag and tag not in allowed:
            shown = tag.replace("tag:yaml.org,2002:", "!!")[:40]
            self.faults.append(_fault("JOB-09", place, f"the tag '{shown}' is not used in a job file", "remove it"))

    def _scalar(self, event: Any, place: Place) -> Scalar:
        if _NOT_TEXT.search(event.value):
            self.faults.append(_fault("JOB-09", place, "the value holds a NUL or half a character"))
            return Scalar("", False, place)
        plain = event.style is None and event.tag not in _TEXT_TAGS
        return Scalar(event.value, plain, place)

    def _sequence(self, place: Place, depth: int) -> _Built:
        items: list[_Built] = []
        for event in self.events:
            if isinstance(event, yaml.SequenceEndEvent):
                break
            items.append(self._node(event, depth + 1))
        return _joined(Sequence(tuple(item.node for item in items), place), items)

    def _mapping(self, place: Place, depth: int) -> _Built:
        own: dict[str, Entry] = {}
        merged: list[Entry] = []
        parts: list[_Built] = []
        for event in self.events:
            if isinstance(event, yaml.MappingEndEvent):
                break
            key = self._node(event, depth + 1).node
            value = self._node(next(self.events), depth + 1)
            parts.append(value)
            if not isinstance(key, Scalar):
                self.faults.append(_fault("JOB-01", key.place, "a key must be plain text"))
            elif key.text == _MERGE and key.plain:
                merged += self._merged(value.node, key.place)
            elif key.text in own:
                self._twice(key, own[key.text].place)
            else:
                own[key.text] = Entry(key.text, key.place, value.node)
        for entry in merged:
            own.setdefault(entry.key, entry)
        return _joined(Mapping(tuple(own.values()), place), parts)

    def _merged(self, value: Node, place: Place) -> list[Entry]:
        parts = value.items if isinstance(value, Sequence) else (value,)
        entries: list[Entry] = []
        for part in parts:
            if isinstance(part, Mapping):
                entries += part.entries
            else:
                self.faults.append(_fault("JOB-01", place, "'<<' takes a mapping or a list of mappings"))
        return entries

    def _twice(self, key: Scalar, first: Place) -> None:
        message = f"the key stands twice, on line {first.line} and on line {key.place.line}"
        self.faults.append(_fault("JOB-09", key.place, message, "keep one of them", key.text[:60]))


def _joined(node: Node, parts: list[_Built]) -> _Built:
    return _Built(node, 1 + sum(part.size for part in parts), 1 + max((part.height for part in parts), default=0))
