"""The JSON Schema of a launch record, made from its class. Draft 2020-12.

`python -m gonogo.launcher.schema` writes it again after a change to the class.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from gonogo.launcher.records import SCHEMA, Record

SCHEMA_FILE = Path(__file__).with_name("launch.schema.json")


def record_schema() -> dict[str, Any]:
    """The schema, made from the class."""
    made: dict[str, Any] = _without_noise(TypeAdapter(Record).json_schema(mode="validation"))
    made.pop("description", None)
    return {
        **made,
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "gonogo launch record",
        "properties": {**made["properties"], "schema": {"const": SCHEMA}},
        "required": sorted({*made["required"], "schema"}),
    }


def _without_noise(node: Any) -> Any:
    """Without titles, defaults and words that change nothing, which pydantic's versions write differently."""
    if isinstance(node, list):
        return [_without_noise(item) for item in node]
    if not isinstance(node, dict):
        return node
    return {
        key: _without_noise(item)
        for key, item in node.items()
        if key not in ("title", "default") and not (key == "additionalProperties" and item is True)
    }


def schema_text() -> str:
    """The schema as it stands in the file."""
    return json.dumps(record_schema(), indent=2, sort_keys=True) + "\n"


if __name__ == "__main__":
    SCHEMA_FILE.write_text(schema_text(), encoding="utf-8")
