"""POL-01 and what else a site policy sets."""

from __future__ import annotations

from pathlib import Path

from suite_runs import job_text, run


def policy(folder: Path, text: str) -> str:
    (folder / "gonogo.toml").write_text(text)
    return f"--policy={folder / 'gonogo.toml'}"


def test_image_that_the_policy_does_not_name_is_no_go(tmp_path: Path) -> None:
    option = policy(tmp_path, '[allow]\nimages = ["registry.site/*"]\n')
    finished = run(tmp_path, option, job=job_text(image="docker.io/library/other:1"))
    finished.broken("POL-01", "does not allow image docker.io/library/other:1", remedy="policy names")


def test_target_that_the_policy_does_not_name_is_no_go(tmp_path: Path) -> None:
    finished = run(tmp_path, policy(tmp_path, '[allow]\nhosts = ["ssh://gpu-*"]\n'), job=job_text())
    finished.broken("POL-01", "does not allow the target this machine", remedy="policy names")


def test_what_the_policy_names_is_fine(tmp_path: Path) -> None:
    option = policy(tmp_path, '[allow]\nimages = ["registry.site/*"]\nhosts = ["this machine*"]\n')
    finished = run(tmp_path, option, job=job_text(image="registry.site/train:2"))
    finished.fine("POL-01")
    assert finished.verdict == "GO", finished.output


def test_policy_with_an_unknown_key_is_refused(tmp_path: Path) -> None:
    finished = run(tmp_path, policy(tmp_path, '[alow]\nimages = ["x"]\n'), job=job_text())
    assert finished.status == 4
    assert "alow" in finished.output
    assert "allow" in finished.output
