"""Job files from text, for the tests beside this file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from gonogo.jobs.loading import AdHoc, JobFault, JobFileError, LoadedJob, load_job

NOTHING: Mapping[str, str] = {}


def load_text(
    folder: Path,
    text: str | bytes,
    *,
    environment: Mapping[str, str] = NOTHING,
    overrides: Sequence[str] = (),
    ad_hoc: AdHoc = AdHoc(),  # noqa: B008
) -> LoadedJob:
    """The job that a file `job.yaml` with that text describes."""
    file = folder / "job.yaml"
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    return load_job(file, overrides=overrides, environment=environment, ad_hoc=ad_hoc)


def faults_in(
    folder: Path,
    text: str | bytes,
    *,
    environment: Mapping[str, str] = NOTHING,
    overrides: Sequence[str] = (),
    ad_hoc: AdHoc = AdHoc(),  # noqa: B008
) -> list[JobFault]:
    """The faults of that text; the test fails where there are none."""
    with pytest.raises(JobFileError) as caught:
        load_text(folder, text, environment=environment, overrides=overrides, ad_hoc=ad_hoc)
    return caught.value.faults


def told(faults: Sequence[JobFault]) -> str:
    return "\n".join(str(fault) for fault in faults)
