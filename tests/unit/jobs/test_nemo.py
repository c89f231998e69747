"""NeMo AutoModel recipes as job files (row JOB-08)."""

from __future__ import annotations

from pathlib import Path

import pytest
from job_texts import faults_in, load_text, told

from gonogo.jobs.rules import choose_platform, command_faults

BODY = """\
step_scheduler: {max_steps: 10}
model: {_target_: nemo_automodel.X, path: "${oc.env:MODEL,gpt2}", other: "${UNSET_HERE,x}"}
dataset: {path: <dataset>}
"""
NEW = "recipe: TrainFinetuneRecipeForNextTokenPrediction\n" + BODY


def test_without_a_section_it_runs_here(tmp_path: Path) -> None:
    loaded = load_text(tmp_path, NEW)
    job = loaded.job
    assert loaded.kind == "nemo-recipe"
    assert choose_platform(job, {}) == "interactive"
    assert job.command == ["automodel", str(tmp_path / "job.yaml")]
    assert (job.name, job.gpus, job.nodes, job.processes_per_node, job.ports.master) == ("job", -1, 1, 1, 29500)
    assert loaded.notes == []
    assert loaded.recipe is not None
    assert loaded.recipe["model"]["path"] == "${oc.env:MODEL,gpt2}"
    assert command_faults(job) == []


def test_slurm_section_of_an_older_recipe(tmp_path: Path) -> None:
    text = BODY + (
        "nemo: {command: finetune, domain: llm}\n"
        "slurm:\n  job_name: my_run\n  nodes: 2\n  ntasks_per_node: 4\n  time: 10:30:00\n  account: a\n"
        "  hf_token: ${HF_TOKEN}\n"
    )
    loaded = load_text(tmp_path, text, environment={"HF_TOKEN": "hf_secretsecretsecret"})
    job = loaded.job
    assert choose_platform(job, {}) == "slurm"
    assert (job.name, job.nodes, job.gpus, job.processes_per_node) == ("my_run", 2, 4, 4)
    assert job.time_limit == 37_800
    assert job.ports.master == 13742
    assert job.command == ["automodel", "finetune", "llm", "-c", str(tmp_path / "job.yaml")]
    assert job.slurm is not None
    assert job.slurm["time"] == "10:30:00"
    assert job.slurm["hf_token"] == "hf_secretsecretsecret"
    assert loaded.lines["slurm.time"] == 9


@pytest.mark.parametrize(
    ("extra", "told_so"),
    [
        ("", False),
        ("nemo: {command: kd, domain: llm, version: 0.3.0}\n", False),
        ("nemo: {command: kd, domain: llm, version: 0.4.0}\n", True),
    ],
)
def test_releases_that_ignore_the_slurm_section_are_named(tmp_path: Path, extra: str, told_so: bool) -> None:
    text = BODY + (extra or "nemo: {command: kd, domain: llm}\n") + "slurm: {nodes: 1}\n"
    notes = load_text(tmp_path, text).notes
    assert any("ignores this section" in note for note in notes) == told_so


def test_the_newer_form_with_a_slurm_section_is_named(tmp_path: Path) -> None:
    assert "would run the job on this machine" in load_text(tmp_path, NEW + "slurm: {nodes: 1}\n").notes[0]


def test_skypilot_section(tmp_path: Path) -> None:
    job = load_text(tmp_path, NEW + "skypilot: {cloud: aws, accelerators: 'H100:8', num_nodes: 2}\n").job
    assert choose_platform(job, {}) == "skypilot"
    assert (job.gpus, job.nodes) == (8, 2)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (BODY + "slurm: {nodes: 1}\n", "nemo.command: the recipe does not say it"),
        (BODY + "slurm: {nodes: 1}\n", "nemo.domain: the recipe does not say it"),
        (BODY, "nemo.command: the recipe does not say it"),
        (BODY + "nemo: {command: tune, domain: llm}\n", "job.yaml:4:17: nemo.command: 'tune' is not a NeMo command"),
        (NEW + "slurm: {nodes: none}\n", "nodes: must be a whole number"),
        (NEW + "slurm: {account: <your_account>}\n", "job.yaml:5:18: slurm.account: the placeholder '<your_account>'"),
        (NEW + "slurm: {account: $ACCOUNT}\n", "slurm.account: '$ACCOUNT' is not expanded"),
        (NEW + "slurm: {time: soon}\n", "time_limit: 'soon': not a time"),
    ],
)
def test_faults_of_a_recipe_have_their_place(tmp_path: Path, text: str, expected: str) -> None:
    faults = faults_in(tmp_path, text)
    assert expected in told(faults)
    assert all(fault.line for fault in faults)


def test_overrides_of_nemos_own_keys_are_handed_on(tmp_path: Path) -> None:
    overrides = ["step_scheduler.max_steps=5", "gpus=2", "name=other"]
    job = load_text(tmp_path, NEW, overrides=overrides).job
    assert job.command[-1] == "--step_scheduler.max_steps=5"
    assert (job.gpus, job.name) == (2, "other")


def test_a_job_file_is_no_recipe(tmp_path: Path) -> None:
    assert load_text(tmp_path, "command: run\n").kind == "job"
    assert "model: unknown key" in told(faults_in(tmp_path, "command: run\nmodel: {}\nrecipe: x\n"))
