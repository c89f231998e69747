"""CRED-06: a secret that is met anywhere in a run appears in no output of it, whole or in part."""

from __future__ import annotations

import secrets
from pathlib import Path

import pytest
from services.dockerd import Dockerd
from services.images import make_image, shell_that_runs
from suite_runs import Finished, job_text, run

OWN_CHECKS = '''
import base64, logging, os, sys, warnings

from gonogo.fixtures.requirement import requirement

TOKEN = os.environ["HF_TOKEN"]


@requirement("SITE-01", remedy="export HF_TOKEN={found}")
def test_that_talks_of_its_token(evidence):
    """A row that says its token wherever it can."""
    local_copy = TOKEN
    print("printed", local_copy)
    print("printed", local_copy, file=sys.stderr)
    logging.getLogger("site").warning("logged %s", local_copy)
    warnings.warn(f"warned of {local_copy}")
    evidence(found=local_copy, header=f"Authorization: Bearer {local_copy}")
    assert local_copy == "another", f"the token is {local_copy}"


@requirement("SITE-02")
def test_that_fails_with_its_token():
    """A row whose exception holds the token."""
    local_copy = TOKEN
    raise RuntimeError(f"https://user:{local_copy}@registry refused {local_copy}")


def test_that_is_no_row():
    local_copy = TOKEN
    print("printed", local_copy)
    assert local_copy == "another", local_copy


def test_that_passes():
    print("printed", TOKEN)
'''


class Canaries:
    """Secrets that look like nothing, so that only knowing them can keep them out."""

    def __init__(self) -> None:
        self.token = f"tok{secrets.token_hex(16)}"
        self.in_job_file = f"job{secrets.token_hex(16)}"

    def found_in(self, text: str, *more: str) -> list[str]:
        parts = {canary[4:18] for canary in (self.token, self.in_job_file, *more)}  # a cut one is one too
        return [text[max(0, text.find(part) - 80) : text.find(part) + 60] for part in parts if part in text]


def outputs(tmp_path: Path, done: Finished) -> dict[str, str]:
    """Every form that the run left."""
    texts = {"terminal": done.output}
    for file in tmp_path.glob("readiness.*"):
        texts[file.suffix] = file.read_text()
    texts["junit"] = (tmp_path / "junit.xml").read_text()
    assert sorted(texts) == [".html", ".json", ".md", "junit", "terminal"]
    return texts


@pytest.mark.parametrize("workers", ["0", "2"])
def test_no_output_holds_a_secret(tmp_path: Path, docker_daemon: Dockerd, workers: str) -> None:
    canaries = Canaries()
    own = tmp_path / "checks"
    own.mkdir()
    (own / "test_site.py").write_text(OWN_CHECKS)
    script = f"echo talking of {canaries.token} >&2; echo out {canaries.token}; exit 3"
    talking = make_image(docker_daemon.client(), "gonogo-test/talking", shell_that_runs(script), [])
    job = job_text(
        image=docker_daemon.secret_label_image,
        run_as="65534:65534",
        credentials=["HF_TOKEN"],
        env={"SERVICE_API_KEY": canaries.in_job_file, "MODE": "train"},
        inputs=[{"name": "hosts", "uri": f"/data/{canaries.token}/set"}],
    )
    options = [f"--report={tmp_path / f'readiness{suffix}'}" for suffix in (".html", ".md")]
    options += [f"--junit-xml={tmp_path / 'junit.xml'}", "-v", "-rA", "--tb=long", "--showlocals", f"-n{workers}"]
    done = run(
        tmp_path,
        *options,
        f"--checks={own}",
        f"--smoke-image={talking}",
        job=job,
        platform="local-docker",
        DOCKER_HOST=docker_daemon.url,
        HF_TOKEN=canaries.token,
    )
    docker_daemon.client().images.remove(talking)
    assert done.verdict == "NO-GO"
    done.broken("SITE-01", "the token is", remedy="export HF_TOKEN=")
    assert done.row("SITE-02")["state"] == "error"
    assert "talking of [secret HF_TOKEN]" in done.detail("DOCK-04"), "the container's words are there"
    for form, text in outputs(tmp_path, done).items():
        assert canaries.found_in(text, docker_daemon.secret_canary) == [], form
        assert "[secret HF_TOKEN]" in text, f"{form} says that something was left out"


def test_usage_errors_hold_no_secret(tmp_path: Path) -> None:
    canaries = Canaries()
    variables = {"HF_TOKEN": canaries.token}
    for job, options in (
        (job_text(credentials=["HF_TOKEN"], image="${HF_TOKEN}:::"), ()),
        (job_text(env={"SERVICE_API_KEY": canaries.in_job_file}, gpus=canaries.token), ()),
        (job_text(credentials=["HF_TOKEN"]), (f"--set=gpus={canaries.token}",)),
        (job_text(credentials=["HF_TOKEN"]), (f"--docker-host={canaries.token}", f"--probe-timeout={canaries.token}")),
    ):
        done = run(tmp_path, *options, job=job, **variables)
        assert done.status == 4, done.output
        assert canaries.found_in(done.output) == []
