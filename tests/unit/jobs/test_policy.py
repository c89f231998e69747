"""The site policy and the file of further waivers."""

from __future__ import annotations

from pathlib import Path

import pytest

from gonogo.jobs.faults import JobFileError
from gonogo.jobs.policy import Policy, check_waiver_rows, find_policy, load_policy, load_waivers

FULL = """\
[minimums]
driver = ">=580"
cuda = 12.10
[allow]
images = ["nvcr.io/nvidia/*", "busybox:*"]
hosts = "*.example.com"
[[waivers]]
row = "GPU-02"
reason = "r"
owner = "o"
until = 2100-01-31
"""


def write(folder: Path, text: str, name: str = "gonogo.toml") -> Path:
    file = folder / name
    file.write_text(text)
    return file


def test_a_full_policy(tmp_path: Path) -> None:
    policy = load_policy(write(tmp_path, FULL))
    assert (policy.minimums.driver, policy.minimums.cuda, policy.minimums.container_toolkit) == (
        ">=580",
        ">=12.10",
        None,
    )
    assert policy.allows_image("nvcr.io/nvidia/tao/x:1")
    assert not policy.allows_image("docker.io/x:1")
    assert policy.allows_host("a.example.com")
    assert not policy.allows_host("example.com.evil.org")
    assert policy.waivers[0].until.isoformat() == "2100-01-31"
    assert policy.file == str(tmp_path / "gonogo.toml")
    assert len(policy.with_waivers(policy.waivers).waivers) == 2


def test_no_policy_allows_everything() -> None:
    assert Policy().allows_image("x")
    assert Policy().allows_host("y")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[minimum]\n", "minimum: unknown key; did you mean 'minimums'?"),
        ("[minimums]\ndrivers = '1'\n", "minimums.drivers: unknown key; did you mean 'driver'?"),
        ("[minimums]\ndriver = 'new'\n", "minimums.driver: 'new' is not a version bound"),
        ("file = 'x'\n", "file: unknown key"),
        ("[[waivers]]\nrow = 'all'\nreason = 'r'\nowner = 'o'\nuntil = 2100-01-01\n", "every row at once"),
        (
            "[[waivers]]\nrow = 'GPU-02'\nreason = 'r'\nowner = 'o'\nuntil = 2020-01-01\n",
            "waivers.0.until: the waiver for GPU-02 ended",
        ),
        ("[[waivers]]\nrow = 'GPU-02'\n", "waivers.0.owner: this key is missing"),
        ("x = \n", "gonogo.toml:1:"),
        ("a = " + "[" * 5000, "not valid TOML"),
    ],
)
def test_faults_have_file_and_key(tmp_path: Path, text: str, expected: str) -> None:
    file = write(tmp_path, text)
    with pytest.raises(JobFileError) as caught:
        load_policy(file)
    assert expected in str(caught.value)
    assert all(str(fault).startswith(str(file)) for fault in caught.value.faults)


def test_where_a_policy_is_found(tmp_path: Path) -> None:
    job_folder, config = tmp_path / "job", tmp_path / "config"
    (config / "gonogo").mkdir(parents=True)
    (tmp_path / "home" / ".config" / "gonogo").mkdir(parents=True)
    job_folder.mkdir()
    environment = {"HOME": str(tmp_path / "home")}
    assert find_policy(job_folder / "job.yaml", environment) is None
    in_home = write(tmp_path / "home" / ".config" / "gonogo", "")
    assert find_policy(job_folder / "job.yaml", environment) == in_home
    assert find_policy(None, environment) == in_home
    environment["XDG_CONFIG_HOME"] = str(config)
    assert find_policy(None, environment) is None
    in_config = write(config / "gonogo", "")
    assert find_policy(None, environment) == in_config
    beside = write(job_folder, "")
    assert find_policy(job_folder / "job.yaml", environment) == beside


def test_waivers_from_a_file(tmp_path: Path) -> None:
    file = write(tmp_path, "- {row: GPU-02, reason: r, owner: o, until: 2100-01-31}\n", "w.yaml")
    waivers = load_waivers(file)
    assert [waiver.row for waiver in waivers] == ["GPU-02"]
    assert check_waiver_rows(waivers, {"GPU-02"}, file="w.yaml") == []
    assert "there is no row 'GPU-02'" in str(check_waiver_rows(waivers, {"GPU-03"}, file="w.yaml")[0])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("row: GPU-02\n", "w.yaml:1:1: the file must hold a list"),
        (
            "- {row: GPU-02, reason: r, owner: o, until: 2020-01-31}\n",
            "w.yaml:1:45: 0.until: the waiver for GPU-02 ended",
        ),
        ("- {row: GPU-02, reason: r, owner: o}\n", "0.until: this key is missing"),
        (
            "- {row: GPU-02, reasons: r, owner: o, until: 2100-01-31}\n",
            "w.yaml:1:17: 0.reasons: unknown key; did you mean 'reason'?",
        ),
    ],
)
def test_faults_of_a_waivers_file_have_their_place(tmp_path: Path, text: str, expected: str) -> None:
    with pytest.raises(JobFileError) as caught:
        load_waivers(write(tmp_path, text, "w.yaml"))
    assert expected in str(caught.value)
