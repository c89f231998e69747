"""Turns pydantic's errors into `JobFault`s: our words, the place in the file, the nearest valid key."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Any, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from gonogo.jobs.faults import JobFault
from gonogo.jobs.model import Job
from gonogo.jobs.nodes import Key, Mapping, Node, Place, Sequence, dotted

#: Naming the nearest key takes a moment each: a file of another kind must not take minutes.
MAX_FAULTS = 200
_MESSAGES = {
    "missing": "this key is missing",
    "list_type": "must be a list",
    "dict_type": "must hold keys and values",
    "model_type": "must hold keys and values",
    "model_attributes_type": "must hold keys and values",
}
_HINTS = {"list_type": "begin each entry with '- '", "dict_type": "write NAME: VALUE", "model_type": "write KEY: VALUE"}


def faults_of(error: ValidationError, root: Node, model: type[BaseModel] = Job) -> list[JobFault]:
    """One fault for each of pydantic's errors. No input value gets into a message here."""
    errors = error.errors(include_url=False)
    faults = [_fault(details, root, model) for details in errors[:MAX_FAULTS]]
    if len(errors) > MAX_FAULTS:
        more = f"and {len(errors) - MAX_FAULTS} more faults: is this a job file?"
        faults.append(JobFault("JOB-01", root.place.file, 0, 0, "", more))
    return faults


def _fault(details: ErrorDetails, root: Node, model: type[BaseModel]) -> JobFault:
    path, about_key = _path(details)
    kind, context = details["type"], details.get("ctx", {})
    place = place_of(root, path, of_key=about_key or kind in ("extra_forbidden", "missing"))
    row, message, hint = "JOB-01", _MESSAGES.get(kind, "not valid here"), _HINTS.get(kind, "")
    if kind == "gonogo":
        row, message, hint = context["row"], context["message"], context["hint"]
    elif kind == "extra_forbidden":
        message, hint = "unknown key", nearest_key(str(path[-1]), model, path[:-1])
    return JobFault(row, place.file, place.line, place.column, dotted(path), message, hint)


def _path(details: ErrorDetails) -> tuple[tuple[Key, ...], bool]:
    path = tuple(details["loc"])
    if path and path[-1] == "[key]":
        return path[:-1], True
    return path, False


def place_of(root: Node, path: tuple[Key, ...], *, of_key: bool = False) -> Place:
    """Where that key (or its value) stands; where it does not, the place of the deepest part that does."""
    node: Node = root
    place = root.place
    for depth, part in enumerate(path):
        if isinstance(node, Mapping):
            entry = node.entry(str(part))
            if entry is None:
                return place
            last = depth == len(path) - 1
            place = entry.place if of_key or not last else entry.value.place
            node = entry.value
        elif isinstance(node, Sequence) and isinstance(part, int) and part < len(node.items):
            node = node.items[part]
            place = node.place
        else:
            return place
    return place


def nearest_key(key: str, model: type[BaseModel], path: Iterable[Key] = ()) -> str:
    """`did you mean 'gpus'?`, or where the key belongs, or the keys that are valid there."""
    section = _section_at(model, tuple(path)) or model
    names = list(section.model_fields)
    near = difflib.get_close_matches(key.lower().replace("-", "_"), names, n=1, cutoff=0.6)
    if near:
        return f"did you mean '{near[0]}'?"
    homes = _homes(model, key)
    if homes:
        return f"did you mean '{homes[0]}'?"
    return "valid keys: " + ", ".join(names)


def _section_at(model: type[BaseModel], path: tuple[Key, ...]) -> type[BaseModel] | None:
    current: type[BaseModel] | None = model
    for part in path:
        if isinstance(part, int):
            continue
        if current is None or part not in current.model_fields:
            return None
        current = _section_in(current.model_fields[part].annotation)
    return current


def _section_in(annotation: Any) -> type[BaseModel] | None:
    """The section that an annotation such as `list[Input]` or `Docker | None` is about."""
    # Python 3.10 takes list[Input] for a class; get_origin tells them apart.
    if get_origin(annotation) is None and isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next((found for part in get_args(annotation) if (found := _section_in(part))), None)


def _homes(model: type[BaseModel], key: str) -> list[str]:
    """Dotted keys of other sections with that very name: `gpu_memory` belongs to `requires`."""
    homes = []
    for name, field in model.model_fields.items():
        section = _section_in(field.annotation)
        if section is not None and key in section.model_fields and "list" not in str(field.annotation):
            homes.append(f"{name}.{key}")
    return homes + ([key] if key in model.model_fields else [])
