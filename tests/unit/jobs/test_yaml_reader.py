"""The YAML reader: places, YAML's traps, bounds (row JOB-09)."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gonogo.jobs.faults import JobFault
from gonogo.jobs.nodes import Plain, dotted, to_plain, walk
from gonogo.jobs.yaml_reader import MAX_BYTES, read_list, read_value, read_yaml


def read(text: str) -> tuple[Plain, list[JobFault]]:
    node, faults = read_yaml(text.encode(), "job.yaml")
    return (to_plain(node) if node else None), faults


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("10:30:00", "10:30:00"),
        ("1:00:00", "1:00:00"),
        ("1001:1001", "1001:1001"),
        ("on", "on"),
        ("No", "No"),
        ("yes", "yes"),
        ("true", True),
        ("False", False),
        ("0755", "0755"),
        ("0o755", "0o755"),
        ("0x1F", "0x1F"),
        ("1_000", "1_000"),
        ("0", 0),
        ("-1", -1),
        ("13.0", 13.0),
        ("1e3", "1e3"),
        ("1e999", "1e999"),
        ("1.0e999", "1.0e999"),
        (".inf", ".inf"),
        ("2027-01-31", "2027-01-31"),
        ("null", None),
        ("~", None),
        ("", None),
        ('""', ""),
        ("'4'", "4"),
        ("!!str 4", "4"),
        ("99999999999999999999999", "99999999999999999999999"),
    ],
)
def test_plain_values_are_what_was_written(written: str, value: Plain) -> None:
    assert read(f"key: {written}\n") == ({"key": value}, [])


def test_every_key_and_value_keeps_its_place() -> None:
    node, _ = read_yaml(b"a: 1\nb:\n  - x: 2\n    y: {z: 3}\n", "job.yaml")
    assert node is not None
    places = {
        dotted(path): (place.line, place.column, value.place.line, value.place.column)
        for path, place, value in walk(node)
    }
    assert places["a"] == (1, 1, 1, 4)
    assert places["b.0.x"] == (3, 5, 3, 8)
    assert places["b.0.y.z"] == (4, 9, 4, 12)


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"", "job.yaml:1:1: the file is empty"),
        (b"# nothing\n", "job.yaml:1:1: the file is empty"),
        (b"---\n", "job.yaml:1:1: the file is empty"),
        (b"- a\n", "job.yaml:1:1: the file must hold keys and values"),
        (b"text\n", "job.yaml:1:1: the file must hold keys and values"),
        (b"a: 1\n\tb: 2\n", "job.yaml:2:1: a tab is used for indentation; indent with spaces"),
        (b"a: 1\n---\nb: 2\n", "job.yaml:2:1: a second document begins here"),
        (b"a: 1\nb: x\0y\n", "job.yaml:2:5: the file holds a NUL byte"),
        (b'a: "x\\0y"\n', "job.yaml:1:4: the value holds a NUL"),
        (b'a: "\\ud800"\n', "job.yaml:1:4: the value holds a NUL or half a character"),
        (b"a: \x1b[31m\n", "job.yaml:1:4: the file holds a control character (U+001B)"),
        (b"a: 1\nb: caf\xe9\n", "job.yaml:2:7: the file is not UTF-8 from here on"),
        ("a: 1".encode("utf-16"), "job.yaml:1:1: the file is UTF-16"),
        (b"a: 1\nb: 2\na: 3\n", "job.yaml:3:1: a: the key stands twice, on line 1 and on line 3"),
        (b"x: {a: 1, a: 2}\n", "job.yaml:1:11: a: the key stands twice, on line 1 and on line 1"),
        (b"a: &x [*x]\n", "job.yaml:1:8: the alias '*x' refers to itself"),
        (b"a: *x\n", "job.yaml:1:4: no anchor '&x' stands before this alias"),
        (b"a: !!python/object/apply:os.system [ls]\n", "is not used in a job file"),
        (b"a: !secret x\n", "job.yaml:1:4: the tag '!secret' is not used"),
        (b"a: {b: ${X}}\n", 'put quotes around it: "${VAR}"'),
        (b"a: b: c\n", "job.yaml:1:5: not valid YAML"),
        (b"a: 'open\n", "not valid YAML"),
        (b'a: "\\U99999999"\n', "job.yaml:1:"),
        (b"? [x]\n: 1\n", "job.yaml:1:3: a key must be plain text"),
        (b"<<: 3\n", "'<<' takes a mapping"),
        (b"%YAML 1." + b"9" * 5000 + b"\n---\na: 1\n", "job.yaml:1:"),
        (b"a: " + b"x" * MAX_BYTES, "the file is larger than 1024 KiB"),
    ],
)
def test_what_cannot_be_read_is_a_fault_with_its_place(data: bytes, expected: str) -> None:
    _, faults = read_yaml(data, "job.yaml")
    assert any(expected in str(fault) for fault in faults), [str(fault) for fault in faults]


def test_byte_order_mark_is_let_pass() -> None:
    assert read("\ufeffname: x\n") == ({"name": "x"}, [])


@pytest.mark.parametrize("opening", ["[", "{", "- ", "? ", "a: {"])
def test_deep_nesting_is_bounded(opening: str) -> None:
    node, faults = read_yaml(opening.encode() * 20_000, "job.yaml")
    assert node is None
    assert "nested more than 40 levels deep" in str(faults[0])


def test_depth_counts_through_aliases() -> None:
    lines = ["a0: &a0 " + "[" * 30 + "]" * 30]
    lines += [f"a{i}: &a{i} {'[' * 30}*a{i - 1}{']' * 30}" for i in range(1, 30)]
    _, faults = read("\n".join(lines))
    assert "nested more than 40 levels deep" in str(faults[0])


@pytest.mark.parametrize("merge", [False, True])
def test_alias_bombs_are_bounded(merge: bool) -> None:
    lines = ["a0: &a0 {k0: x, k1: x}" if merge else "a0: &a0 [x, x]"]
    for i in range(1, 40):
        twice = f"*a{i - 1}, *a{i - 1}"
        lines.append(f"a{i}: &a{i} " + (f"{{<<: [{twice}]}}" if merge else f"[{twice}]"))
    node, faults = read_yaml("\n".join(lines).encode(), "job.yaml")
    assert node is None
    assert "expands to more than" in str(faults[0])


def test_anchors_and_merges_work() -> None:
    text = "base: &base {a: 1, b: 2}\nmore: {<<: *base, b: 3}\nboth: {<<: [*base, {c: 4}]}\n"
    value, faults = read(text)
    assert faults == []
    assert isinstance(value, dict)
    assert value["more"] == {"a": 1, "b": 3}
    assert value["both"] == {"a": 1, "b": 2, "c": 4}


def test_single_values_have_the_option_as_their_place() -> None:
    node, faults = read_value("[10:30:00, 4]", "--set x")
    assert faults == []
    assert node is not None
    assert to_plain(node) == ["10:30:00", 4]
    assert node.place.file == "--set x"
    assert node.place.line == 0


def test_list_file() -> None:
    assert read_list(b"", "w.yaml")[1] == []
    node, faults = read_list(b"a: 1\n", "w.yaml")
    assert node is None
    assert "must hold a list" in str(faults[0])


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=200) | st.text(alphabet="ab:-{}[]&*!|>'\"%@` \n\t#?,<.0\\", max_size=80).map(str.encode))
def test_no_input_gets_an_exception_out_of_the_reader(data: bytes) -> None:
    node, faults = read_yaml(data, "job.yaml")
    assert node is not None or faults
