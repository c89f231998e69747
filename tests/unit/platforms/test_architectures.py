"""What an image's code runs on, by the rules that platforms/architectures.py states."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gonogo.jobs.model import Job
from gonogo.platforms.architectures import (
    Architecture,
    architectures,
    coverage,
    covered,
    driver_for,
    image_code,
    too_new_for,
)
from gonogo.platforms.data import table
from gonogo.platforms.versions import compare


@pytest.mark.parametrize(
    ("device", "code", "how"),
    [
        ("9.0", ["sm_80", "sm_90"], "exact"),
        ("9.0", ["sm_90a"], "exact"),
        ("10.0", ["sm_90a"], "none"),
        ("10.3", ["sm_100a"], "none"),
        ("10.3", ["sm_100f"], "exact"),
        ("10.0", ["sm_103f"], "none"),
        ("12.0", ["sm_100f"], "none"),
        ("12.1", ["sm_120"], "minor"),
        ("12.1", ["12.0+PTX"], "ptx"),
        ("12.1", ["sm_120f"], "exact"),
        ("8.9", ["8.0", "8.6"], "minor"),
        ("8.0", ["8.6"], "none"),
        ("10.0", ["compute_90"], "ptx"),
        ("10.0", ["compute_90a"], "none"),
        ("9.0", ["compute_100"], "none"),
        ("7.5", [], "none"),
    ],
)
def test_coverage(device: str, code: list[str], how: str) -> None:
    assert coverage(device, architectures(code)) == how


def test_ptx_that_the_driver_cannot_compile() -> None:
    assert coverage("12.1", architectures(["compute_90"]), ptx_compiles=False) == "none"


@pytest.mark.parametrize("text", ["sm_90", "sm90", "9.0", "90", "SM_90"])
def test_spellings(text: str) -> None:
    assert architectures([text]) == (Architecture(9, 0),)


def test_what_is_no_architecture_is_left_out() -> None:
    assert architectures(["", "ampere", "sm_", "9", "sm_90b"]) == ()


@given(st.integers(1, 99), st.integers(0, 9), st.sampled_from(["", "a", "f"]), st.booleans())
def test_text_is_read_back(major: int, minor: int, suffix: str, ptx: bool) -> None:
    one = Architecture(major, minor, suffix, ptx)
    assert architectures([one.text]) == (one,)
    assert coverage(f"{major}.{minor}", [one]) == ("ptx" if ptx else "exact")


def test_torch_judges_itself_by_the_weaker_rule() -> None:
    assert covered("8.9", ["sm_80", "sm_86"])
    assert not covered("7.5", ["sm_80"])
    assert not covered("unknown", ["sm_80"])


def image(**fields: object) -> Job:
    return Job(**{"name": "tiny", "gpus": 1, "image": "registry/train:1", **fields})


def test_the_job_comes_before_the_image_and_the_image_before_the_table() -> None:
    environment = ["TORCH_CUDA_ARCH_LIST=8.0 9.0+PTX", "CUDA_VERSION=12.8.1.012"]
    known = image(image="registry/cosmos-rl:1")
    assert image_code(image(image_sms=["12.0"]), environment).words == "sm_120"
    told = image_code(known, environment)
    assert (told.words, told.cuda, told.origin) == (
        "sm_80 sm_90 compute_90",
        "12.8",
        "TORCH_CUDA_ARCH_LIST of the image",
    )
    assert image_code(known).words == "sm_80 sm_90 sm_100 sm_103 sm_103a sm_120"
    assert image_code(image(), labels={"TORCH_CUDA_ARCH_LIST": "7.5;8.0"}).words == "sm_75 sm_80"
    assert image_code(image()).architectures == ()


def test_cuda_of_an_image_by_its_requirement() -> None:
    assert image_code(image(), ["NVIDIA_REQUIRE_CUDA=cuda>=12.4 brand=tesla,driver>=470"]).cuda == "12.4"


def test_an_image_that_is_not_there_tells_nothing() -> None:
    assert image_code(image(), ["TORCH_CUDA_ARCH_LIST=9.0"], is_there=False).architectures == ()


def test_tables() -> None:
    assert driver_for("13.0") == "580.65.06"
    assert driver_for("99.0") == ""
    assert too_new_for("12.0", "12.4") == "12.8"
    assert too_new_for("12.0", "12.8") == ""
    assert too_new_for("12.0", "") == ""
    for name in ("cuda", "architectures", "images"):
        assert table(name)["source"]
    releases = table("cuda")["releases"]
    drivers = [releases[cuda]["driver"] for cuda in sorted(releases, key=lambda text: [*map(int, text.split("."))])]
    assert all(compare(old, new) < 0 for old, new in pairwise(drivers)), "newer CUDA, newer driver"
