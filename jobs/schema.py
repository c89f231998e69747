"""The JSON Schema of the job file as people write it, so that editors complete and check it. Draft 2020-12.

`python -m gonogo.jobs.schema` writes it again after a change to the model. It describes job files, not NeMo recipes.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from gonogo.jobs.model import Job

SCHEMA_FILE = Path(__file__).with_name("job.schema.json")


def job_schema() -> dict[str, Any]:
    """The schema, made from the model."""
    made = Job.model_json_schema(mode="validation")
    made.pop("description", None)
    head = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "gonogo job file",
        "description": "What shall run, and on which platforms it may. Any value may be written as ${VARIABLE}.",
    }
    schema: dict[str, Any] = _without_noise({**made, **head})
    schema["title"] = head["title"]
    return schema


def _without_noise(node: Any) -> Any:
    """Without titles, which repeat the key, and defaults, which pydantic's versions place differently."""
    if isinstance(node, list):
        return [_without_noise(item) for item in node]
    if not isinstance(node, dict):
        return node
    return {key: _without_noise(item) for key, item in node.items() if key not in ("title", "default")}


def schema_text() -> str:
    """The schema as it stands in the file."""
    return json.dumps(job_schema(), indent=2, sort_keys=True, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    SCHEMA_FILE.write_text(schema_text(), encoding="utf-8")
