"""The site policy `gonogo.toml` and the file of `--waivers`. See README.md.

```toml
[minimums]
driver = ">=580"
cuda = ">=13.0"
container_toolkit = ">=1.19.0"

[allow]
images = ["nvcr.io/nvidia/*"]
hosts = ["*.gpu.example.com"]

[[waivers]]
row = "GPU-02"
reason = "driver update planned"
owner = "platform team"
until = 2027-01-31
```
"""

from __future__ import annotations

import re
import sys
from collections.abc import Collection, Mapping, Sequence
from datetime import date
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Annotated

from pydantic import BeforeValidator, Field, TypeAdapter, ValidationError

from gonogo.jobs import fields as kinds
from gonogo.jobs.consistency import unknown_row
from gonogo.jobs.faults import JobFault, JobFileError
from gonogo.jobs.files import printable, read_small_file
from gonogo.jobs.model import Section, Waiver
from gonogo.jobs.nodes import Mapping as MappingNode
from gonogo.jobs.nodes import Node, Place, to_fields
from gonogo.jobs.wording import faults_of, place_of
from gonogo.jobs.yaml_reader import read_list

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

FILE_NAME = "gonogo.toml"
_Globs = Annotated[list[kinds.Filled], BeforeValidator(kinds.as_list)]


class Minimums(Section):
    """Version bounds that replace the built-in ones; a job's own `requires` may only be stricter."""

    driver: kinds.Bound | None = None
    cuda: kinds.Bound | None = None
    container_toolkit: kinds.Bound | None = None


class Allow(Section):
    """Globs of what may be used; an empty list allows everything."""

    images: _Globs = Field(default_factory=list)
    hosts: _Globs = Field(default_factory=list)


class Policy(Section):
    """What the site asks for. `file` is where it was read from, empty for no policy."""

    minimums: Minimums = Field(default_factory=Minimums)
    allow: Allow = Field(default_factory=Allow)
    waivers: list[Waiver] = Field(default_factory=list)
    file: str = Field(default="", exclude=True)

    def with_waivers(self, more: Sequence[Waiver]) -> Policy:
        """This policy with further waivers."""
        return self.model_copy(update={"waivers": [*self.waivers, *more]})

    def allows_image(self, image: str) -> bool:
        return _allowed(image, self.allow.images)

    def allows_host(self, host: str) -> bool:
        return _allowed(host, self.allow.hosts)


def _allowed(name: str, globs: Sequence[str]) -> bool:
    return not globs or any(fnmatchcase(name, glob) for glob in globs)


def load_policy(path: str | Path) -> Policy:
    """The policy in that file. Raises JobFileError with every fault, each with file and key."""
    file = printable(str(path))
    place = Place(file)
    try:
        # parse_float: 12.10 must stay 12.10
        data = tomllib.loads(read_small_file(path).decode("utf-8"), parse_float=str)
    except UnicodeDecodeError:
        raise JobFileError([JobFault("JOB-01", file, 0, 0, "", "the file is not UTF-8", "save it as UTF-8")]) from None
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise JobFileError([_toml_fault(file, str(error))]) from None
    root = MappingNode((), place)
    if "file" in data:
        raise JobFileError(
            [JobFault("JOB-01", file, 0, 0, "file", "unknown key", "valid keys: minimums, allow, waivers")]
        )
    try:
        policy = Policy.model_validate(data)
    except ValidationError as error:
        raise JobFileError(faults_of(error, root, Policy)) from None
    _refuse_ended(policy.waivers, root, ("waivers",))
    return policy.model_copy(update={"file": file})


def _toml_fault(file: str, text: str) -> JobFault:
    at = re.search(r"\(at line (\d+), column (\d+)\)", text)
    line, column = (int(at[1]), int(at[2])) if at else (0, 0)
    message = re.sub(r"\s*\(at .*\)$", "", text).split("\n")[0][:120]
    return JobFault("JOB-01", file, line, column, "", f"not valid TOML: {message}")


def load_waivers(path: str | Path) -> list[Waiver]:
    """The waivers in a YAML file that holds a list of them. Raises JobFileError with every fault."""
    root, faults = read_list(read_small_file(path), printable(str(path)))
    if root is None or faults:
        raise JobFileError(faults)
    try:
        waivers = TypeAdapter(list[Waiver]).validate_python(to_fields(root))
    except ValidationError as error:
        raise JobFileError(faults_of(error, root, Waiver)) from None
    _refuse_ended(waivers, root, ())
    return waivers


def _refuse_ended(waivers: Sequence[Waiver], root: Node, path: tuple[str, ...]) -> None:
    faults = []
    for i, waiver in enumerate(waivers):
        if waiver.until < date.today():
            place = place_of(root, (*path, i, "until"))
            key = ".".join((*path, str(i), "until"))
            message = f"the waiver for {waiver.row} ended on {waiver.until.isoformat()}"
            hint = "renew it with its owner, or remove it"
            faults.append(JobFault("JOB-01", place.file, place.line, place.column, key, message, hint))
    if faults:
        raise JobFileError(faults)


def check_waiver_rows(waivers: Sequence[Waiver], known_ids: Collection[str], *, file: str) -> list[JobFault]:
    """A fault for each waiver whose row is not in the catalogue."""
    return [
        unknown_row(waiver.row, known_ids, file=file, line=0, key=f"waivers.{i}.row")
        for i, waiver in enumerate(waivers)
        if waiver.row not in known_ids
    ]


def find_policy(job_file: str | Path | None, environment: Mapping[str, str]) -> Path | None:
    """`gonogo.toml` beside the job file, else in `$XDG_CONFIG_HOME/gonogo` (or `~/.config/gonogo`), else None."""
    places = [Path(job_file).parent / FILE_NAME] if job_file is not None else []
    home = environment.get("HOME")
    config = environment.get("XDG_CONFIG_HOME") or (f"{home}/.config" if home else "")
    if config.startswith("/"):
        places.append(Path(config) / "gonogo" / FILE_NAME)
    return next((place for place in places if place.exists()), None)
