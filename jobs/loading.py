"""From a job file (or options alone) to a `Job`, or to every fault at once. Neither network nor target is asked.

Order: read the file, put in `--set` and the ad-hoc options, turn a NeMo recipe into a job, look for placeholders, fill
in `${VAR}`, judge each value, then what concerns several. Only what cannot be read as YAML stops before the end.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any, Literal

from pydantic import ValidationError

from gonogo.jobs import nemo
from gonogo.jobs.consistency import advice, check_rows, clear_secrets, consistency_faults
from gonogo.jobs.expand import expand, expand_public
from gonogo.jobs.faults import JobFault, JobFileError
from gonogo.jobs.files import printable, read_small_file
from gonogo.jobs.model import Job
from gonogo.jobs.nodes import Mapping as MappingNode
from gonogo.jobs.nodes import Node, Place, dotted, to_fields, to_plain, walk
from gonogo.jobs.nodes import Sequence as SequenceNode
from gonogo.jobs.overrides import AdHoc, apply_ad_hoc, apply_overrides
from gonogo.jobs.placeholders import placeholder_faults
from gonogo.jobs.wording import faults_of, place_of
from gonogo.jobs.yaml_reader import read_yaml

__all__ = ["AdHoc", "JobFault", "JobFileError", "LoadedJob", "check_rows", "load_ad_hoc", "load_job"]

Kind = Literal["job", "nemo-recipe"]


@dataclass(frozen=True)
class LoadedJob:
    """A job and what is known of where it came from.

    `digest` is `sha256:…` over the content after `--set` and options; layout, comments, quotes, the order of keys and
    `id` do not count. Variables are filled in first, except those that hold secrets: they count by name, so that a new
    token leaves the digest as it was and the digest tells nothing about a token. `file` is None for an ad-hoc job.
    `lines` maps dotted keys (`inputs.0.uri`) to lines of the file. `notes` are sentences of advice. `recipe` is the
    whole content of a NeMo recipe.
    """

    job: Job
    digest: str
    file: str | None = None
    lines: Mapping[str, int] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    kind: Kind = "job"
    recipe: Mapping[str, Any] | None = None


def load_job(
    path: str | Path,
    *,
    overrides: Sequence[str] = (),
    environment: Mapping[str, str],
    ad_hoc: AdHoc = AdHoc(),  # noqa: B008 - frozen
) -> LoadedJob:
    """The job in that file. Raises JobFileError with every fault, and nothing else."""
    file = printable(os.fspath(path))
    root, faults = read_yaml(read_small_file(path), file)
    if root is None:
        raise JobFileError(faults)
    return _load(root, file, faults, overrides, environment, ad_hoc)


def load_ad_hoc(ad_hoc: AdHoc, *, overrides: Sequence[str] = (), environment: Mapping[str, str]) -> LoadedJob:
    """The job that the options describe, without a file. Raises JobFileError with every fault."""
    root = MappingNode((), Place("options"))
    return _load(root, None, [], overrides, environment, ad_hoc)


def _load(
    root: MappingNode,
    file: str | None,
    faults: list[JobFault],
    overrides: Sequence[str],
    environment: Mapping[str, str],
    ad_hoc: AdHoc,
) -> LoadedJob:
    edited = apply_overrides(root, overrides)
    added = apply_ad_hoc(edited.root, ad_hoc)
    content = added.root
    faults = [*faults, *edited.faults, *added.faults]
    notes: list[str] = []
    is_recipe = file is not None and nemo.is_recipe(content)
    if file is not None and is_recipe:
        translated = nemo.as_job(content, file, edited.keys)
        faults, notes = [*faults, *translated.faults], translated.notes
        root = translated.root
    else:
        root = content
    faults += placeholder_faults(root)
    expansion = expand(root, environment)
    faults += expansion.faults
    job, more = _validated(expansion.node)
    faults += _without_echoes(more, faults)
    if job is None or faults:
        raise JobFileError(_in_order(faults, file))
    return LoadedJob(
        job=job,
        digest=_digest(content if is_recipe else root, environment, job),
        file=file,
        lines={dotted(path): place.line for path, place, _ in walk(root) if place.file == file},
        notes=[*notes, *expansion.notes, *_clear_secret_notes(root, file), *advice(job)],
        kind="nemo-recipe" if is_recipe else "job",
        recipe=_plain_mapping(content) if is_recipe else None,
    )


def _validated(node: Node) -> tuple[Job | None, list[JobFault]]:
    try:
        job = Job.model_validate(to_fields(node))
    except ValidationError as error:
        return None, faults_of(error, node)
    faults = []
    for key, message, hint in consistency_faults(job, date.today()):
        path = tuple(int(part) if part.isdigit() else part for part in key.split("."))
        place = place_of(node, path)
        faults.append(JobFault("JOB-01", place.file, place.line, place.column, key, message, hint))
    return job, faults


def _without_echoes(faults: list[JobFault], known: list[JobFault]) -> list[JobFault]:
    """Faults of values about which something is said already: an unreplaced placeholder is also no valid image."""
    told = {(fault.file, fault.line, fault.column, fault.key) for fault in known if fault.key}
    return [fault for fault in faults if (fault.file, fault.line, fault.column, fault.key) not in told]


def _in_order(faults: list[JobFault], file: str | None) -> list[JobFault]:
    return sorted(faults, key=lambda fault: (fault.file != file, not fault.line, fault.line, fault.column))


def _clear_secret_notes(root: MappingNode, file: str | None) -> list[str]:
    place = file or "the options"
    return [
        f"{key}: a secret stands in clear in {place}; write ${{VARIABLE}}, or name it in credentials"
        for key in clear_secrets(root)
    ]


def _digest(content: MappingNode, environment: Mapping[str, str], job: Job) -> str:
    public = _normalised(expand_public(content, environment, set(job.credentials)))
    if isinstance(public, dict):
        public.pop("id", None)  # the name of a launch, not what is launched
    text = json.dumps(public, sort_keys=True, separators=(",", ":"))
    return "sha256:" + hashlib.sha256(text.encode()).hexdigest()


def _normalised(node: Node) -> object:
    """Kinds and texts: `12.10` differs from `12.1`, `"a"` does not from `a`."""
    if isinstance(node, MappingNode):
        return {entry.key: _normalised(entry.value) for entry in node.entries}
    if isinstance(node, SequenceNode):
        return [_normalised(item) for item in node.items]
    return f"{type(node.value).__name__}:{'' if node.is_null else node.text}"


def _plain_mapping(node: MappingNode) -> dict[str, Any]:
    return {entry.key: to_plain(entry.value) for entry in node.entries}
