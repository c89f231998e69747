"""The kinds of values that a job file holds: each reads what a person wrote and says what is wrong with it.

A validator takes a `nodes.Scalar` from a file, or an ordinary value where a program builds a `Job`. It raises a
`PydanticCustomError` whose context holds `message`, `row` and `hint`; `jobs.wording` turns that into a `JobFault`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date
from typing import Annotated, Any

from pydantic import BeforeValidator, WithJsonSchema
from pydantic_core import PydanticCustomError

from gonogo.jobs.nodes import Scalar
from gonogo.jobs.secrets import looks_secret
from gonogo.jobs.sizes import parse_duration, parse_size

#: Words that YAML 1.1 reads as booleans; here they are text, and a fault where a boolean is meant.
_BOOLEAN_WORDS = {"yes", "no", "on", "off", "y", "n"}
_OCTAL = re.compile(r"[-+]?0[0-9_]+")

ENV_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,62}")
_ID = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,38}[A-Za-z0-9])?")
_ROW = re.compile(r"[A-Z0-9]{2,10}-[0-9]{2,3}")
_BOUND = re.compile(r"(>=|<=|==|!=|>|<|~=)?\s*([0-9]{1,6}(?:\.[0-9]{1,6}){0,3})")
_ARCHITECTURE = re.compile(r"(sm_?|compute_?)?([0-9]{1,2})\.?([0-9])([af]?)(\+ptx)?", re.IGNORECASE)
_CAPABILITY = re.compile(r"(?:sm_?)?([0-9]{1,2})\.?([0-9])([af]?)", re.IGNORECASE)


def wrong(message: str, *, hint: str = "", row: str = "JOB-01") -> PydanticCustomError:
    """The error that every validator here raises."""
    return PydanticCustomError("gonogo", "{message}", {"message": message, "hint": hint, "row": row})


def hidden(value: object) -> bool:
    """Whether a message may hold no part of the value: it came from the environment, or looks like a secret."""
    if isinstance(value, Scalar):
        return value.expanded or looks_secret(value.text)
    return isinstance(value, (list, dict)) or looks_secret(str(value))


def shown(value: object) -> str:
    """The value in quotes for a message, shortened; 'the value' where it is hidden."""
    if hidden(value):
        return "the value"
    text = value.text if isinstance(value, Scalar) else str(value)
    return f"'{text}'" if len(text) <= 60 else f"'{text[:57]}…'"


def as_text(value: object) -> str:
    """Text exactly as written: `12.10` stays `12.10`, `on` stays `on`, `007` stays `007`."""
    if isinstance(value, Scalar):
        if value.is_null:
            raise wrong("the value is empty")
        return value.text
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (str, int, float)):
        return str(value)
    raise wrong(f"must be one value, not a {_kind(value)}")


def _kind(value: object) -> str:
    if isinstance(value, (list, tuple)):
        return "list"
    return "mapping" if isinstance(value, dict) else type(value).__name__


def as_filled(value: object) -> str:
    """Text that is not blank."""
    text = as_text(value)
    if not text.strip():
        raise wrong("the value is empty")
    return text


def as_flag(value: object) -> bool:
    """`true` or `false`."""
    if isinstance(value, bool):
        return value
    text = as_text(value)
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    if text.lower() in _BOOLEAN_WORDS:
        meant = "true" if text.lower() in ("yes", "on", "y") else "false"
        raise wrong(f"{shown(value)} is text here", hint=f"write {meant}", row="JOB-09")
    raise wrong(f"must be true or false, not {shown(value)}")


def whole_number(low: int, high: int, *, hint: str = "") -> Callable[[object], int]:
    """A validator for whole numbers from `low` to `high`."""

    def read(value: object) -> int:
        number = _as_int(value, hint)
        if not low <= number <= high:
            raise wrong(f"must be from {low} to {high}, not {shown(value)}", hint=hint)
        return number

    return read


def _as_int(value: object, hint: str) -> int:
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    text = as_text(value)
    if _OCTAL.fullmatch(text):
        plain = text.replace("_", "").lstrip("+-0") or "0"
        message = f"{shown(value)} has a leading zero, which some YAML readers take as octal"
        raise wrong(message, hint="" if hidden(value) else f"write {plain}", row="JOB-09")
    if not re.fullmatch(r"[-+]?[0-9]{1,18}", text):
        raise wrong(f"must be a whole number, not {shown(value)}", hint=hint)
    return int(text)


def as_size(value: object) -> int:
    """Bytes."""
    return _parsed(parse_size, value)


def as_duration(value: object) -> int:
    """Seconds."""
    return _parsed(parse_duration, value)


def _parsed(parse: Callable[[Any], int], value: object) -> int:
    try:
        return parse(value if isinstance(value, int) else as_text(value))
    except ValueError as error:
        if isinstance(error, PydanticCustomError):
            raise
        reason, _, hint = ("not understood", "", "") if hidden(value) else str(error).partition("; ")
        raise wrong(f"{shown(value)}: {reason}", hint=hint) from None


def as_name(value: object) -> str:
    """A name that can be part of a container name."""
    text = as_filled(value)
    if not _NAME.fullmatch(text):
        better = re.sub(r"[^A-Za-z0-9_.-]+", "-", text).strip("-_.")[:63]
        hint = f"write {better}" if better and not hidden(value) else ""
        raise wrong(
            "must begin with a letter or digit and hold only letters, digits, '-', '_', '.' (63 at most)", hint=hint
        )
    return text


def as_id(value: object) -> str:
    """A launch ID."""
    text = as_filled(value)
    if not _ID.fullmatch(text):
        raise wrong("must hold only letters, digits and '-', 40 at most, and begin and end with a letter or digit")
    return text


def as_env_name(value: object) -> str:
    """The name of an environment variable; a value in its place is never shown."""
    text = as_filled(value)
    if ENV_NAME.fullmatch(text):
        if looks_secret(text):
            raise wrong("holds a secret itself", hint="name the environment variable that holds it", row="CRED-06")
        return text
    if "=" in text and ENV_NAME.fullmatch(text.split("=", 1)[0]):
        raise wrong("must be a name without a value", hint="" if hidden(value) else f"write {text.split('=', 1)[0]}")
    raise wrong(
        "must be the name of an environment variable", hint="letters, digits and '_', not beginning with a digit"
    )


def as_row(value: object) -> str:
    """The ID of a row of the catalogue."""
    text = as_filled(value).strip()
    if text in ("*", ".*") or text.lower() in ("all", "any", "every"):
        raise wrong("every row at once cannot be named", hint="write one entry for each row")
    if not _ROW.fullmatch(text):
        raise wrong(f"{shown(value)} is not a row ID", hint="write one such as GPU-02; run: gonogo list")
    return text


def as_date(value: object) -> date:
    """`2027-01-31`."""
    if isinstance(value, date):
        return value
    try:
        return date.fromisoformat(as_text(value))
    except ValueError as error:
        if isinstance(error, PydanticCustomError):
            raise
        raise wrong(f"{shown(value)} is not a date", hint="write year-month-day, such as 2027-01-31") from None


def as_bound(value: object) -> str:
    """Version bounds such as `>=580` or `>=13.0,<14`; a bare version is the least that will do."""
    parts = []
    for part in as_filled(value).split(","):
        match = _BOUND.fullmatch(part.strip())
        if not match:
            raise wrong(f"{shown(value)} is not a version bound", hint='write one such as ">=580"')
        parts.append((match[1] or ">=") + match[2])
    return ",".join(parts)


def as_capability(value: object) -> str:
    """A compute capability: `9.0`, also written `90`, `sm_90` or `sm_90a`."""
    match = _CAPABILITY.fullmatch(as_filled(value).strip())
    if not match:
        raise wrong(f"{shown(value)} is not a compute capability", hint='write one such as "9.0"')
    return f"{match[1]}.{match[2]}{match[3].lower()}"


def as_architecture(value: object) -> str:
    """What an image is compiled for: a compute capability, also `compute_90` or `9.0+PTX` for code that the driver
    compiles."""
    text = as_filled(value).strip()
    match = _ARCHITECTURE.fullmatch(text)
    if not match:
        raise wrong(f"{shown(value)} is not a GPU architecture", hint='write one such as "9.0", "sm_90a" or "9.0+PTX"')
    number = f"{match[2]}.{match[3]}{match[4].lower()}"
    if (match[1] or "").lower().startswith("compute"):
        return "compute_" + number.replace(".", "")
    return number + ("+PTX" if match[5] else "")


def as_run_as(value: object) -> str:
    """`submitter`, `root`, `UID` or `UID:GID`."""
    text = as_filled(value)
    if text in ("submitter", "root") or re.fullmatch(r"[0-9]{1,10}(:[0-9]{1,10})?", text):
        if all(int(part) < 2**32 - 1 for part in text.split(":") if part.isdigit()):
            return text
        raise wrong("a user or group ID goes up to 4294967294")
    raise wrong(f"must be submitter, root, UID or UID:GID, not {shown(value)}", hint='write one such as "1001:1001"')


def as_command(value: object) -> str | list[str]:
    """A string for the shell, or a list for exec."""
    if isinstance(value, (list, tuple)):
        return [as_text(item) for item in value]
    if isinstance(value, Scalar) and value.is_null:
        return ""
    return as_text(value)


def as_list(value: object) -> object:
    """A list; one value alone stands for a list of one."""
    return [value] if isinstance(value, (str, Scalar)) else value


_SIZE_SCHEMA = {
    "anyOf": [
        {"type": "integer", "minimum": 0},
        {"type": "string", "pattern": r"^\s*[0-9]+(\.[0-9]+)?\s*([KMGTPkmgtp]i?)?[Bb]?\s*$|\$\{"},
    ],
    "description": "A size: bytes, or a number with a unit (KiB to PiB, KB to PB), such as 40 GiB.",
}
_TEXT_SCHEMA = {"type": ["string", "number", "boolean"]}
_VARIABLE = r"\$\{"


def _number_schema(low: int, high: int) -> dict[str, Any]:
    return {"anyOf": [{"type": "integer", "minimum": low, "maximum": high}, {"type": "string", "pattern": _VARIABLE}]}


def _string(pattern: str = "", description: str = "") -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "string"}
    if pattern:
        schema["pattern"] = f"^(?:{pattern})$|{_VARIABLE}"
    if description:
        schema["description"] = description
    return schema


def count_schema(low: int, high: int) -> WithJsonSchema:
    """The JSON Schema of a whole number that may also be written as `${VAR}`."""
    return WithJsonSchema(_number_schema(low, high))


Text = Annotated[str, BeforeValidator(as_text), WithJsonSchema(_TEXT_SCHEMA)]
Filled = Annotated[str, BeforeValidator(as_filled), WithJsonSchema({"type": "string", "minLength": 1})]
Flag = Annotated[bool, BeforeValidator(as_flag), WithJsonSchema({"type": "boolean"})]
Size = Annotated[int, BeforeValidator(as_size), WithJsonSchema(_SIZE_SCHEMA)]
Duration = Annotated[
    int,
    BeforeValidator(as_duration),
    WithJsonSchema(
        {
            "type": ["string", "integer"],
            "description": "A time: 10:30:00, 1-12:00:00, 90m, 2h30m, or a bare number of minutes.",
        }
    ),
]
Name = Annotated[str, BeforeValidator(as_name), WithJsonSchema(_string(_NAME.pattern))]
LaunchID = Annotated[str, BeforeValidator(as_id), WithJsonSchema(_string(_ID.pattern))]
EnvName = Annotated[str, BeforeValidator(as_env_name), WithJsonSchema(_string(ENV_NAME.pattern))]
RowID = Annotated[str, BeforeValidator(as_row), WithJsonSchema(_string(_ROW.pattern))]
Day = Annotated[date, BeforeValidator(as_date), WithJsonSchema({"type": "string", "format": "date"})]
Bound = Annotated[
    str,
    BeforeValidator(as_bound),
    WithJsonSchema({"type": ["string", "number"], "description": 'Version bounds such as ">=580" or ">=13.0,<14".'}),
]
Capability = Annotated[str, BeforeValidator(as_capability), WithJsonSchema({"type": ["string", "number"]})]
Architecture = Annotated[str, BeforeValidator(as_architecture), WithJsonSchema({"type": ["string", "number"]})]
RunAs = Annotated[
    str,
    BeforeValidator(as_run_as),
    WithJsonSchema(
        {"type": ["string", "integer"], "description": 'submitter, root, "UID" or "UID:GID".'},
    ),
]
Command = Annotated[
    "str | list[str]",
    BeforeValidator(as_command),
    WithJsonSchema({"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": ["string", "number"]}}]}),
]
