"""Values from the command line, put into the file's content: `--set KEY=VALUE` and the options of an ad-hoc job."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from gonogo.jobs.faults import JobFault
from gonogo.jobs.fields import shown
from gonogo.jobs.files import printable
from gonogo.jobs.nodes import Entry, Node, Place, Scalar
from gonogo.jobs.nodes import Mapping as MappingNode
from gonogo.jobs.nodes import Sequence as SequenceNode
from gonogo.jobs.secrets import looks_secret
from gonogo.jobs.yaml_reader import read_value

_MAX_PARTS = 20


@dataclass(frozen=True)
class AdHoc:
    """What the command line says of the job, with or without a file.

    `paths` and `outputs` are `LABEL=URI` texts, a bare absolute path or URI names itself. `requires` maps keys of the
    job file's `requires` to texts (`{"gpu_memory": "40 GiB"}`). `fields` are `LABEL=FIELD[,FIELD]` texts about a path.
    """

    name: str | None = None
    image: str | None = None
    gpus: int | str | None = None
    command: str | Sequence[str] | None = None
    paths: Sequence[str] = ()
    outputs: Sequence[str] = ()
    fields: Sequence[str] = ()
    credentials: Sequence[str] = ()
    requires: Mapping[str, str] = field(default_factory=dict)


@dataclass
class Edits:
    """The content after the edits, and what was wrong with them. `keys` are the dotted keys that `--set` named."""

    root: MappingNode
    faults: list[JobFault] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)


def apply_overrides(root: MappingNode, overrides: Sequence[str]) -> Edits:
    """`root` with each `KEY=VALUE` set; later ones win. `inputs.0.uri` and `inputs[0].uri` both name a list's item."""
    edits = Edits(root)
    for override in overrides:
        key, equals, text = printable(override).partition("=")
        parts = re.sub(r"\[(\d+)\]", r".\1", key.strip()).split(".")
        origin = "--set" if looks_secret(override) and not equals else f"--set {key.strip()[:80]}"
        if not equals or not all(parts) or len(parts) > _MAX_PARTS:
            edits.faults.append(_fault(origin, "not of the form KEY=VALUE", "write one such as --set gpus=4"))
            continue
        value, faults = read_value(_one_line(text), origin)
        edits.faults += faults
        if value is None:
            continue
        changed = _put(edits.root, parts, value, origin)
        if isinstance(changed, JobFault):
            edits.faults.append(changed)
        elif isinstance(changed, MappingNode):
            edits.root = changed
            edits.keys.append(".".join(parts))
    return edits


def _one_line(text: str) -> str:
    """A value as YAML on one line: `>=580` is a bound there, since no block of text can follow its `>`."""
    return "'" + text.replace("'", "''") + "'" if text.startswith((">", "|")) else text


def _put(node: Node, parts: list[str], value: Node, origin: str) -> Node | JobFault:
    """`node` with the value put at that path below it."""
    if not parts:
        return value
    if isinstance(node, Scalar) and node.is_null:
        node = MappingNode((), Place(origin))
    if isinstance(node, MappingNode):
        old = node.entry(parts[0])
        inner = _put(old.value if old else Scalar("", True, Place(origin)), parts[1:], value, origin)
        if isinstance(inner, JobFault):
            return inner
        place = old.place if old and len(parts) > 1 else Place(origin)
        return node.put(Entry(parts[0], place, inner))
    if isinstance(node, SequenceNode):
        return _put_item(node, parts, value, origin)
    return _fault(origin, f"'{parts[0]}' cannot be set inside a single value")


def _put_item(node: SequenceNode, parts: list[str], value: Node, origin: str) -> Node | JobFault:
    index = int(parts[0]) if re.fullmatch(r"[0-9]{1,6}", parts[0]) else -1
    if not 0 <= index <= len(node.items):
        return _fault(origin, f"'{parts[0]}' is not an index of a list with {len(node.items)} entries")
    old = node.items[index] if index < len(node.items) else Scalar("", True, Place(origin))
    inner = _put(old, parts[1:], value, origin)
    if isinstance(inner, JobFault):
        return inner
    return replace(node, items=(*node.items[:index], inner, *node.items[index + 1 :]))


def apply_ad_hoc(root: MappingNode, ad_hoc: AdHoc) -> Edits:
    """`root` with the options' values: single ones replace the file's, inputs and outputs are added to it."""
    edits = Edits(root)
    for key, option in (("name", "--name"), ("image", "--image"), ("gpus", "--gpus")):
        value = getattr(ad_hoc, key)
        if value is not None:
            edits.root = edits.root.put(_entry(key, Scalar(printable(str(value)), False, Place(option))))
    if ad_hoc.command is not None:
        edits.root = edits.root.put(_entry("command", _command(ad_hoc.command)))
    _add_data(edits, "inputs", "--path", ad_hoc.paths, ad_hoc.fields)
    _add_data(edits, "outputs", "--output", ad_hoc.outputs, ())
    _add_items(
        edits, "credentials", [Scalar(printable(name), False, Place("--credential")) for name in ad_hoc.credentials]
    )
    for key, text in ad_hoc.requires.items():
        changed = _put(
            edits.root, ["requires", key], Scalar(printable(text), False, Place(f"requires {key}")), "requires"
        )
        if isinstance(changed, MappingNode):
            edits.root = changed
    return edits


def _entry(key: str, value: Node) -> Entry:
    return Entry(key, value.place, value)


def _command(command: str | Sequence[str]) -> Node:
    place = Place("--command")
    if isinstance(command, str):
        return Scalar(printable(command), False, place)
    return SequenceNode(tuple(Scalar(printable(word), False, place) for word in command), place)


def _add_data(edits: Edits, key: str, option: str, texts: Sequence[str], fields: Sequence[str]) -> None:
    place = Place(option)
    wanted = dict(text.partition("=")[::2] for text in map(printable, fields))
    items: list[Node] = []
    for text in map(printable, texts):
        label, uri = _labelled(text)
        if not label or not uri:
            edits.faults.append(
                _fault(option, f"{shown(text)} is not LABEL=URI", f"write one such as {option} data=/data")
            )
            continue
        entries = [_entry("name", Scalar(label, False, place)), _entry("uri", Scalar(uri, False, place))]
        if label in wanted:
            names = tuple(Scalar(name.strip(), False, place) for name in wanted.pop(label).split(","))
            entries.append(_entry("fields", SequenceNode(names, place)))
        items.append(MappingNode(tuple(entries), place))
    edits.faults += [_fault("fields", f"no {option} has the label '{label[:60]}'") for label in wanted]
    _add_items(edits, key, items)


def _labelled(text: str) -> tuple[str, str]:
    """Label and URI; a bare path or URI is labelled by its last part."""
    label, equals, uri = text.partition("=")
    if text.startswith("/") or "://" in label:
        last = re.sub(r"[^A-Za-z0-9_.-]+", "-", text.rstrip("/").rpartition("/")[2]).strip("-_.")
        return last[:63] or "data", text
    return (label.strip(), uri) if equals else ("", "")


def _add_items(edits: Edits, key: str, items: Sequence[Node]) -> None:
    if not items:
        return
    old = edits.root.get(key)
    before = old.items if isinstance(old, SequenceNode) else ()
    place = old.place if isinstance(old, SequenceNode) else items[0].place
    known = edits.root.entry(key)
    edits.root = edits.root.put(Entry(key, known.place if known else place, SequenceNode((*before, *items), place)))


def _fault(origin: str, message: str, hint: str = "") -> JobFault:
    return JobFault("JOB-01", origin, 0, 0, "", message, hint)
