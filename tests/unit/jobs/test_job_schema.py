"""The published JSON Schema, the examples and the starters."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from gonogo.jobs.loading import load_job
from gonogo.jobs.nodes import to_plain
from gonogo.jobs.rules import choose_platform, command_faults
from gonogo.jobs.schema import SCHEMA_FILE, schema_text
from gonogo.jobs.starter import PLATFORMS, starter
from gonogo.jobs.yaml_reader import read_yaml

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"
SET = {"NGC_KEY": "x"}


def as_data(text: str) -> Any:
    node, faults = read_yaml(text.encode(), "job.yaml")
    assert faults == []
    assert node is not None
    return to_plain(node)


@pytest.fixture(scope="module")
def validator() -> jsonschema.Draft202012Validator:
    schema = json.loads(SCHEMA_FILE.read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


def test_the_file_is_what_the_model_says() -> None:
    assert SCHEMA_FILE.read_text(encoding="utf-8") == schema_text(), "run: python -m gonogo.jobs.schema"


@pytest.mark.parametrize("name", ["interactive.yaml", "local-docker.yaml"])
def test_examples_validate_and_load(validator: jsonschema.Draft202012Validator, name: str) -> None:
    validator.validate(as_data((EXAMPLES / name).read_text()))
    loaded = load_job(EXAMPLES / name, environment=SET)
    assert choose_platform(loaded.job, {}) == name.removesuffix(".yaml")
    assert command_faults(loaded.job) == []
    assert loaded.notes == []


def test_the_recipe_example_loads() -> None:
    loaded = load_job(EXAMPLES / "nemo-interactive.yaml", environment={})
    assert loaded.kind == "nemo-recipe"
    assert choose_platform(loaded.job, {}) == "interactive"


@pytest.mark.parametrize("platform", PLATFORMS)
def test_starters_load_as_they_are(tmp_path: Path, validator: jsonschema.Draft202012Validator, platform: str) -> None:
    file = tmp_path / "job.yaml"
    file.write_text(starter(platform))
    loaded = load_job(file, environment={})
    assert choose_platform(loaded.job, {}) == platform
    assert command_faults(loaded.job) == []
    assert loaded.notes == []
    validator.validate(as_data(starter(platform)))


def test_a_starter_for_an_unknown_platform_lists_the_seven() -> None:
    with pytest.raises(ValueError, match="interactive, local-docker, remote-docker, brev, lepton, slurm, skypilot"):
        starter("nope")


@pytest.mark.parametrize(
    ("text", "valid"),
    [
        ("gpu: 1", False),
        ("gpus: -2", False),
        ("gpus: '${N}'", True),
        ("requires: {disk: 40 GiB, shm: 1024}", True),
        ("requires: {disk: lots}", False),
        ("mounts: ['/a:/b', {source: /a, target: /b}]", True),
        ("mounts: [{source: /a}]", False),
        ("ports: {master: 22}", False),
        ("ports: {publish: [8080, '8080:80', {host: 1, container: 2}]}", True),
        ("docker: {gpu_ids: [0, GPU-x]}", True),
        ("docker: {gpu: [0]}", False),
        ("command: [a, b]", True),
        ("slurm: {anything: [1]}", True),
        ("env: {A: 1, B: true, C: x}", True),
        ("inputs: [{name: a}]", False),
        ("waivers: [{row: '*', reason: r, owner: o, until: 2100-01-01}]", False),
    ],
)
def test_editors_see_what_is_wrong(validator: jsonschema.Draft202012Validator, text: str, valid: bool) -> None:
    assert validator.is_valid(as_data(text + "\n")) == valid
