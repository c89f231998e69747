"""`${VAR}`, names that were not expanded, shell text, placeholders (rows JOB-02 and JOB-09)."""

from __future__ import annotations

from pathlib import Path

import pytest
from job_texts import faults_in, load_text, told

from gonogo.jobs.placeholders import placeholder_in
from gonogo.jobs.shelltext import names_used, quote_fault

ENVIRONMENT = {"DATA": "/data", "HF_TOKEN": "hf_secretsecretsecret", "N": "4", "EMPTY": "", "MY_PLACE_NAME": "z"}


def test_variables_are_filled_in_value_fields(tmp_path: Path) -> None:
    text = """\
command: echo ${DATA} $${x}
gpus: ${N}
env: {HF: "${HF_TOKEN}", BOTH: "${DATA}-${N}", LITERAL: "$${DATA}", MONEY: "$5", MIXED: "$${A}${N}"}
inputs: [{name: a, uri: "${DATA}/x", mount: "${DATA}"}]
slurm: {time: "${N}", env_vars: {A: "${oc.env:N}", B: "${NOPE,some default}", C: "${oc.env:NOPE,}"}}
"""
    job = load_text(tmp_path, text, environment=ENVIRONMENT).job
    assert job.command == "echo ${DATA} $${x}"
    assert job.gpus == 4
    assert job.env == {
        "HF": ENVIRONMENT["HF_TOKEN"],
        "BOTH": "/data-4",
        "LITERAL": "${DATA}",
        "MONEY": "$5",
        "MIXED": "${A}4",
    }
    assert job.inputs[0].uri == "/data/x"
    assert job.slurm is not None
    assert job.slurm["env_vars"] == {"A": "4", "B": "some default", "C": ""}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('env: {A: "${NOPE}"}', "env.A: the environment variable NOPE is not set; export NOPE"),
        ('env: {A: "${NOPE} ${NOPE2}"}', "the environment variable NOPE2 is not set"),
        ("env: {A: $DATA}", "env.A: '$DATA' is not expanded; write ${DATA}"),
        (
            "env: {HF_TOKEN: HF_TOKEN}",
            "env.HF_TOKEN: 'HF_TOKEN' is a variable's name and is not expanded; write ${HF_TOKEN}",
        ),
        ("env: {TOKEN: HF_TOKEN}", "write ${HF_TOKEN}"),
        ("env: {A: MY_PLACE_NAME}", "write ${MY_PLACE_NAME}"),
        ("slurm: {env_vars: {WANDB_API_KEY: WANDB_API_KEY}}", "write ${WANDB_API_KEY}"),
        ("slurm: {account: $ACCOUNT}", "slurm.account: '$ACCOUNT' is not expanded; write ${ACCOUNT}"),
        ("inputs: [{name: a, uri: /data/$USER/x}]", "inputs.0.uri: '$USER' is not expanded; write ${USER}"),
        ("mounts: ['$DATA:/x']", "'$DATA' is not expanded"),
        ("image: $IMAGE", "image: '$IMAGE' is not expanded"),
        ("image: IMAGE", "image: a variable name that is not expanded; write ${IMAGE} [JOB-02]"),
        ('env: {A: "${DATA:-x}"}', "an expression that is not understood here; write ${DATA}"),
        ('env: {A: "${DATA,x}"}', "an expression that is not understood here; write ${DATA}"),
        ('env: {A: "${oc.env:DATA}"}', "an expression that is not understood here; write ${DATA}"),
        ('env: {A: "${DATA"}', "'${' without its '}'"),
        ('env: {A: "${}"}', "an expression that is not understood here"),
        ('slurm: {x: "${NOPE}"}', "the environment variable NOPE is not set"),
    ],
)
def test_what_is_not_filled_in_is_named(tmp_path: Path, text: str, expected: str) -> None:
    faults = faults_in(tmp_path, text + "\n", environment=ENVIRONMENT)
    assert expected in told(faults)
    assert ENVIRONMENT["HF_TOKEN"] not in told(faults)
    assert {fault.row for fault in faults} == {"JOB-02"}


@pytest.mark.parametrize(
    "text",
    [
        "env: {NCCL_DEBUG: INFO}",
        "env: {MODE: ALL_REDUCE}",
        "env: {A: $5}",
        "env: {PATHS: '/x:$PATH'}",
        "credentials: [HF_TOKEN]",
        "name: HF_TOKEN",
    ],
)
def test_ordinary_words_are_let_pass(tmp_path: Path, text: str) -> None:
    assert load_text(tmp_path, text + "\n", environment=ENVIRONMENT).job


@pytest.mark.parametrize(
    ("text", "note"),
    [
        ("command: echo $FOO", "command: '$FOO' is set by neither the job nor the platform"),
        ("command: [echo, $FOO]", "command: '$FOO' stays as it is: a list is run without a shell"),
        ("command: [sh, -c, 'echo $FOO']", "command: '$FOO' is set by neither"),
        ("skypilot: {setup: 'pip install $FOO'}", "'$FOO' is set by neither"),
        ("env: {A: '/x:$PATH'}", "env.A: '$PATH' stays as it is"),
        ("env: {A: '${EMPTY}'}", "env.A: the environment variable EMPTY is set but empty"),
        ("env: {HF_TOKEN: hf_abcdefghijklmnopqrst}", "env.HF_TOKEN: a secret stands in clear"),
        ("env: {DB_PASSWORD: hunter2hunter2}", "env.DB_PASSWORD: a secret stands in clear"),
        ("slurm: {hf_token: hunter2hunter2}", "slurm.hf_token: a secret stands in clear"),
        ("slurm: {env_vars: {X: hf_abcdefghijklmnopqrst}}", "slurm.env_vars.X: a secret stands in clear"),
        ("gpus: 2\ndocker: {gpu_ids: [0]}", "docker.gpu_ids names 1 GPU(s), gpus is 2"),
        ("env: {A: x}\ncredentials: [A]", "env.A: also named in credentials"),
    ],
)
def test_notes(tmp_path: Path, text: str, note: str) -> None:
    notes = load_text(tmp_path, text + "\n", environment=ENVIRONMENT).notes
    assert len(notes) == 1
    assert note in notes[0]
    assert "hunter2" not in notes[0]


@pytest.mark.parametrize(
    "command",
    [
        "torchrun --node_rank=$NODE_RANK --master_addr=${MASTER_ADDR} --nproc_per_node $NPROC_PER_NODE x.py",
        "cd $SLURM_SUBMIT_DIR && echo $SKYPILOT_NODE_RANK $HOME",
        "X=1; echo $X",
        "for f in *; do echo $f; done",
        "echo ${FOO:-default} ${BAR:?must be set}",
        "awk '{print $FOO}' x",
        "echo \\$FOO $1 $@ $?",
        "echo $A $HF_TOKEN",
    ],
)
def test_shell_text_is_left_to_the_shell(tmp_path: Path, command: str) -> None:
    text = f"env: {{A: x}}\ncredentials: [HF_TOKEN]\ncommand: |\n  {command}\n"
    loaded = load_text(tmp_path, text)
    assert loaded.notes == []
    assert loaded.job.command == command + "\n"


def test_names_used_sees_double_quotes_but_not_single_ones() -> None:
    assert names_used('echo "it\'s $A" \'$B\' "$C" \'"$D"\' $A') == ["A", "C"]


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("echo 'a", "a quote is not closed"),
        ('echo "a', "a quote is not closed"),
        ("echo a\\", "a backslash stands at the very end"),
        ("echo 'a' \"b\"", ""),
        ("# it's a comment\necho a", ""),
        ("cat <<EOF\nit's\nEOF", ""),
    ],
)
def test_quotes(text: str, fault: str) -> None:
    assert quote_fault(text) == fault


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("<your_account>", "<your_account>"),
        ("/lustre/<team>/x", "<team>"),
        ("TODO", "TODO"),
        ("todo", "todo"),
        ("/data/TODO/x", "TODO"),
        ("FIXME: ask", "FIXME"),
        ("changeme", "changeme"),
        ("CHANGE_ME", "CHANGE_ME"),
        ("xxx", "xxx"),
        ("s3://XXX/x", "XXX"),
        ("your-token-here", "your-token-here"),
        ("hf_your_token_here", "your_token_here"),
        ("your_account", "your_account"),
        ("todo-app", ""),
        ("TODO-123", ""),
        ("xx", ""),
        ("a < b > c", ""),
        (">=580", ""),
        ("yourself", ""),
        ("s3://bucket/x", ""),
    ],
)
def test_placeholders(text: str, found: str) -> None:
    assert placeholder_in(text) == found


@pytest.mark.parametrize(
    ("text", "found"),
    [("sort <in.txt> out.txt", ""), ("x --account <your_account>", "<your_account>"), ("echo TODO", "")],
)
def test_placeholders_in_shell_text(text: str, found: str) -> None:
    assert placeholder_in(text, shell=True) == found


def test_a_placeholder_is_told_once_with_its_line(tmp_path: Path) -> None:
    faults = faults_in(tmp_path, "name: x\nimage: <your_image>\nslurm:\n  account: <your_account>\n")
    assert [(fault.row, fault.line, fault.key) for fault in faults] == [
        ("JOB-09", 2, "image"),
        ("JOB-09", 4, "slurm.account"),
    ]
