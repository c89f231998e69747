"""What a person may add to a run: attestations, waivers, a site policy, stricter rules, requirements of their own."""

from __future__ import annotations

import json
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest
from suite_runs import ROOT, job_text, run, states

TODAY = date.today()
WAIVER = {"row": "PATH-01", "param": "/no/such", "reason": "arrives at noon", "owner": "data team"}
BROKEN_INPUT = [{"name": "set", "uri": "/no/such"}]


def until(days: int) -> str:
    return (TODAY + timedelta(days=days)).isoformat()


def test_waiver_covers_exactly_what_it_names(tmp_path: Path) -> None:
    waivers = [{**WAIVER, "until": until(0)}]
    done = run(tmp_path, job=job_text(inputs=BROKEN_INPUT, waivers=waivers))
    assert (done.status, done.verdict) == (0, "GO"), done.output
    row = done.row("PATH-01[/no/such]")
    assert row["state"] == "waived"
    assert (row["waiver"]["was"], row["waiver"]["owner"]) == ("failed", "data team")
    assert "/no/such does not exist" in row["message"], "what was found stays visible"

    other = [*BROKEN_INPUT, {"name": "more", "uri": "/no/such/more"}]
    done = run(tmp_path, job=job_text(inputs=other, waivers=waivers))
    assert done.causes == ["PATH-01[/no/such/more]"]

    nameless = [{**WAIVER, "param": "", "until": until(0)}]
    done = run(tmp_path, job=job_text(inputs=BROKEN_INPUT, waivers=nameless))
    done.broken("PATH-01[/no/such]", "does not exist", remedy="Put the data there")
    noted = {one["name"]: one["text"] for one in done.row("PATH-01[/no/such]")["evidence"]}
    assert "write param: /no/such" in noted["attestation or waiver"]


def test_waiver_that_may_not_be_ends_the_run(tmp_path: Path) -> None:
    for waiver, message in (
        ({**WAIVER, "until": until(-1)}, until(-1)),
        ({**WAIVER, "row": "PATH-99", "until": until(1)}, "PATH-99"),
        ({**WAIVER, "row": "all", "until": until(1)}, "every row at once cannot be named"),
        (WAIVER, "until"),
    ):
        done = run(tmp_path, job=job_text(inputs=BROKEN_INPUT, waivers=[waiver]))
        assert done.status == 4, done.output
        assert message in done.output
        assert done.document is None


def test_attestation_covers_what_is_open_and_not_what_is_proven_broken(tmp_path: Path) -> None:
    attested = [{key: WAIVER[key] for key in ("row", "param", "reason", "owner")}]
    attested.append({"row": "GPU-01", "reason": "seen by hand", "owner": "site"})
    done = run(tmp_path, job=job_text(inputs=BROKEN_INPUT, gpus=1, attested=attested), PATH="/usr/bin:/bin")
    assert done.row("GPU-01")["state"] == "attested", "nvidia-smi is not there: open"
    done.broken("PATH-01[/no/such]", "does not exist", remedy="Put the data there")
    # Rows that wait for the same answer are not vouched for.
    assert done.row("GPU-05")["state"] == "blocked"
    assert done.verdict == "NO-GO"


def policy_file(folder: Path, text: str) -> Path:
    file = folder / "gonogo.toml"
    file.write_text(text)
    return file


def test_site_policy(tmp_path: Path) -> None:
    """Minimums, what is allowed, and waivers; found beside the job file without being named."""
    doubles = ROOT / "tests" / "doubles" / "nvidia_smi"
    scenario = {"driver_version": "570.1", "cuda_version": "12.8", "gpus": [{"count": 1}]}
    (tmp_path / "scenario.json").write_text(json.dumps(scenario))
    variables = {"PATH": f"{doubles}:/usr/bin:/bin", "FAKE_GPU_SCENARIO": str(tmp_path / "scenario.json")}
    job = job_text(gpus=1, image="docker.io/somebody/trainer:1")
    done = run(tmp_path, job=job, **variables)
    done.fine("GPU-01", "GPU-02", "POL-01")
    policy_file(
        tmp_path,
        '[minimums]\ndriver = ">=575"\ncuda = ">=12.9"\n[allow]\nimages = ["nvcr.io/*"]\n'
        f'[[waivers]]\nrow = "GPU-02"\nreason = "update planned"\nowner = "site"\nuntil = {until(3)}\n',
    )
    done = run(tmp_path, job=job, **variables)
    done.broken("GPU-01", "driver 570.1 does not meet >=575", remedy="Install a driver that meets >=575")
    done.broken("POL-01", "does not allow image docker.io/somebody/trainer:1", remedy="policy")
    assert done.row("GPU-02")["state"] == "waived"
    assert {"name": "minimum", "text": "policy file"} in done.row("GPU-01")["evidence"]
    # The job asks for more than the site: both are held.
    done = run(tmp_path, "--set=requires.driver=>=580", job=job, **variables)
    done.broken("GPU-01", "driver 570.1 does not meet >=580", remedy=">=580")


@pytest.mark.parametrize(
    "text",
    ["[minimums]\ndrivers = 1\n", "not toml at all", '[[waivers]]\nrow = "GPU-99"\n'],
    ids=["key", "toml", "row"],
)
def test_policy_that_cannot_be_read_ends_the_run(tmp_path: Path, text: str) -> None:
    done = run(tmp_path, f"--policy={policy_file(tmp_path, text)}", job=job_text())
    assert done.status == 4
    assert "gonogo.toml" in done.output
    assert "Traceback" not in done.output


def test_waivers_of_a_file_of_their_own(tmp_path: Path) -> None:
    (tmp_path / "waivers.yaml").write_text(json.dumps([{**WAIVER, "until": until(30)}]))
    job = job_text(inputs=BROKEN_INPUT)
    done = run(tmp_path, f"--waivers={tmp_path / 'waivers.yaml'}", job=job)
    assert done.row("PATH-01[/no/such]")["state"] == "waived", done.output
    assert run(tmp_path, f"--waivers={tmp_path / 'none.yaml'}", job=job).status == 4


OWN_CHECKS = '''
from gonogo.fixtures.requirement import requirement


@requirement("SITE-01", remedy="Mount it: {found}", why="Everything reads its licence there")
def test_licence_server_is_mounted(node, evidence):
    """The licence server's share is mounted."""
    evidence(found="mount /licences", host=node.hostname)
    assert not BROKEN, "the share is not mounted"


@requirement("SITE-02", severity="advisory", platforms=["interactive"], remedy="Ask for a quota")
def test_home_has_a_quota():
    """The home folder has a quota."""
    assert not SOFT, "no quota is set"


@requirement("SITE-03", platforms=["slurm"])
def test_elsewhere():
    """Not asked here."""
    raise AssertionError
'''


@pytest.mark.parametrize("workers", ["0", "2"])
def test_checks_of_the_users_own(tmp_path: Path, workers: str) -> None:
    own = tmp_path / "checks"
    own.mkdir()
    options = (f"--checks={own}", f"-n{workers}")

    def with_own(broken: bool, soft: bool) -> Any:
        (own / "test_site.py").write_text(f"BROKEN, SOFT = {broken}, {soft}\n{OWN_CHECKS}")
        return run(tmp_path, *options, job=job_text())

    done = with_own(broken=True, soft=True)
    row = done.broken("SITE-01", "the share is not mounted", remedy="Mount it: mount /licences")
    assert row["title"] == "The licence server's share is mounted"
    done.broken("SITE-02", "no quota is set", remedy="Ask for a quota", state="warned")
    assert "SITE-03" not in states(done.report)
    assert done.causes == ["SITE-01"]
    done = with_own(broken=False, soft=True)
    assert (done.status, done.verdict) == (0, "GO"), done.output
    done.fine("SITE-01", "JOB-01")


def test_offline_is_shown(tmp_path: Path) -> None:
    done = run(tmp_path, job=job_text(), AIR_GAPPED="1")
    assert done.verdict == "GO"
    assert done.report["suite"]["options"]["offline"] == {"value": True, "from": "environment (AIR_GAPPED)"}
