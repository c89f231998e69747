"""HTML and Markdown: order, sums, hostile text, size; writing them whole."""

from __future__ import annotations

import os
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from report_samples import document, expect, many_rows, row, varied_rows

from gonogo.reports.compare import compare
from gonogo.reports.document import ReportError, digest, load_document
from gonogo.reports.html import to_html
from gonogo.reports.markdown import to_markdown
from gonogo.reports.render import render
from gonogo.reports.rows import Evidence, ProbeTrace, State
from gonogo.reports.terminal import summary
from gonogo.reports.write import FORMS, write_report

HOSTILE = (
    "</script><script>alert(1)</script><img src=x onerror=alert(2)>\"'{{7*7}}|`<b>"
    "\x1b]0;t\x07\x1b[31m\u202egpj\x00\x9b1m\n# x"
)
RECORD = {"kind": "waiver", "was": "failed", "reason": HOSTILE, "owner": HOSTILE, "until": "2026-12-31"}


class Page(HTMLParser):
    """Tags in order, the text, and all attributes of a page."""

    VOID = frozenset({"meta"})

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.text = ""
        self.headings: list[str] = []
        self.open: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs
        if tag not in self.VOID:
            self.open.append(tag)
        if tag == "h2":
            self.headings.append("")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag, f"</{tag}> closes something else"

    def handle_data(self, data: str) -> None:
        if "style" not in self.open:
            self.text += data
        if "h2" in self.open:
            self.headings[-1] += data


def hostile() -> dict:
    rows = [
        row(
            "GPU-01",
            state,
            param=HOSTILE + state.value,
            title=HOSTILE,
            message=HOSTILE,
            found=HOSTILE,
            expected=HOSTILE,
            remedy=HOSTILE,
            evidence=[Evidence(HOSTILE, HOSTILE)],
            waiver=RECORD if state is State.WAIVED else None,
        )
        for state in State
    ]
    return document(
        *rows,
        job={"name": HOSTILE, "file": HOSTILE, "digest": HOSTILE},
        platform=HOSTILE,
        target={"address": HOSTILE, "identity": HOSTILE, "facts": {HOSTILE: HOSTILE}},
        suite={"version": HOSTILE, "digest": HOSTILE, "options": {HOSTILE: {"value": HOSTILE, "from": HOSTILE}}},
        command_line=HOSTILE,
        user=HOSTILE,
        probes=[ProbeTrace(HOSTILE, (HOSTILE,), 0.0, 1.0, HOSTILE, HOSTILE)],
    )


def test_the_page_is_in_the_order_in_which_it_is_read() -> None:
    page = Page(to_html(document(*varied_rows())))
    assert page.headings == [
        "What was judged",
        "What to mend (3)",
        "Warnings (1)",
        "Waived (1)",
        "Attested, not proven (1)",
        "To be proven on arrival (1)",
        "Not checked (1)",
        "Every requirement",
        "Timeline of probes",
        "The target",
        "Settings of the run",
    ]
    assert page.open == []


def test_an_incomplete_page_names_the_gaps_first() -> None:
    one = document(row("A-01"), row("A-02", State.DEFERRED), expected=expect(row("A-01"), row("B-01")))
    assert Page(to_html(one)).headings[1] == "Not checked (1)"
    assert "Run the whole suite again" in to_html(one)


@pytest.mark.parametrize("form", [to_html, to_markdown, summary])
def test_every_form_says_verdict_cause_and_remedy(form: object) -> None:
    text = form(document(*varied_rows()))  # type: ignore[operator]
    for words in ("NO-GO", "refused the key", "ssh-copy-id ml@gpu-host", "until 2026-12-31", "PORT-02", "remap"):
        assert words in text.replace("\\", "").replace("\u2060", ""), words


def test_every_row_is_on_the_page_with_its_evidence_and_time() -> None:
    one = document(*varied_rows())
    text = Page(to_html(one)).text
    for each in one["rows"]:
        assert each["id"] in text
        for piece in each["evidence"]:
            assert piece["text"] in text
    assert "0.34 s" in text
    assert digest(one) in text


def test_counts_add_up() -> None:
    for equation in re.findall(r"<li>(\d+ \w+ = .*?)</li>", to_html(document(*varied_rows()))):
        total, parts = equation.split(" = ")
        assert int(total.split()[0]) == sum(int(part.split()[0]) for part in parts.split(" + "))


def test_no_script_no_request_and_a_policy_that_says_so() -> None:
    page = Page(to_html(document(*varied_rows())))
    assert "script" not in page.tags
    names = {name for name, _ in page.attributes}
    assert not {name for name in names if name.startswith("on")} | names & {"src", "href", "style"}
    assert not re.search(r"url\(|@import", to_html(document(row())))
    policy = next(value for name, value in page.attributes if name == "content" and value and "default-src" in value)
    assert policy.startswith("default-src 'none'; style-src 'unsafe-inline'")


def test_hostile_text_stays_text_in_html() -> None:
    text = to_html(hostile())
    page = Page(text)
    assert "script" not in page.tags
    assert "img" not in page.tags
    assert "alert(1)" in page.text
    assert "{{7*7}}" in page.text
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e]", text)
    assert page.open == []


def test_hostile_text_stays_text_in_markdown() -> None:
    text = to_markdown(hostile())
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e]", text)
    outside = re.sub(r"^(`{3,})text\n.*?\n\1$", "", text, flags=re.S | re.M)
    assert "<script" not in outside
    assert "<img" not in outside
    assert set(re.findall(r"<(\w+)", outside)) <= {"details", "summary"}
    for line in outside.splitlines():
        if line.startswith("|"):
            assert len(re.findall(r"(?<!\\)\|", line)) in (3, 6), line
    assert not re.search(r"(?m)^# x", outside)


@pytest.mark.parametrize("colour", [False, True])
def test_hostile_text_stays_text_on_a_terminal(colour: bool) -> None:
    text = summary(hostile(), colour=colour)
    own = re.sub(r"\x1b\[[0-9;]+m", "", text) if colour else text
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e]", own)
    assert ("\x1b[1;31mNO-GO\x1b[0m" in text) is colour


@pytest.mark.parametrize(
    ("state", "text"),
    [
        (State.PASSED, "x" * 200),
        (State.FAILED, "<&\"'" * 2000),
        (State.WARNED, "é😀" * 1000),
        (State.BLOCKED, "\u202e" * 300),
        (State.NOT_RUN, "x" * 200),
    ],
    ids=["passed", "failed", "warned", "blocked", "not run"],
)
def test_two_thousand_rows_stay_below_one_megabyte(state: State, text: str) -> None:
    one = document(*many_rows(2000, state, text))
    assert len(to_html(one).encode()) <= 1_000_000
    assert len(to_markdown(one).encode()) <= 1_000_000


def test_what_is_cut_says_so() -> None:
    page = to_html(document(row(evidence=[Evidence("log", "y" * 50_000)])))
    assert "[cut: 41,808 more characters]" in page
    assert page.count("y") < 10_000


def test_an_expiring_waiver_stands_out() -> None:
    record = {"kind": "waiver", "was": "failed", "reason": "r", "owner": "o"}
    soon = document(row("A-01", State.WAIVED, waiver={**record, "until": "2026-12-10"}))
    late = document(row("A-01", State.WAIVED, waiver={**record, "until": "2027-12-10"}))
    assert "ends soon" in to_html(soon)
    assert "ends soon" not in to_html(late)


def test_the_timeline_has_a_bar_for_each_probe_and_says_the_same_in_words() -> None:
    page = Page(to_html(document(row())))
    assert page.tags.count("rect") == 5
    assert page.text.count("no answer from the registry within 2 s") == 1
    assert ("role", "img") in page.attributes


def test_a_run_without_probes_or_facts_has_a_page() -> None:
    one = document(row(), probes=[], target={}, suite={}, job=None, has_job=False)
    assert Page(to_html(one)).headings == ["What was judged", "Every requirement"]
    assert "platform readiness" in to_html(one)


def test_instant_probes_do_not_break_the_timeline() -> None:
    assert "<rect" in to_html(document(row(), probes=[ProbeTrace("p", (), 0.0, 0.0, "done")]))


def test_changes_since_the_last_report() -> None:
    old = document(row("A-01"), row("A-02", State.FAILED), row("A-03", found="580"), row("A-04"))
    new = document(
        row("A-01", State.FAILED),
        row("A-02"),
        row("A-03", found="570"),
        row("A-05"),
        target={"facts": {"driver": "570"}},
    )
    changes = compare(old, new)
    assert (changes.broken, changes.mended) == (["A-01"], ["A-02"])
    assert (changes.added, changes.gone) == (["A-05"], ["A-04"])
    assert [(one.name, one.before, one.now) for one in changes.drift] == [
        ("driver", "580.65.06", "570"),
        ("A-03", "580", "570"),
    ]
    assert "No longer holds" in to_html(new, old)
    assert compare(old, old).none
    with pytest.raises(ValueError, match="slurm"):
        compare(document(row(), platform="slurm"), new)


@pytest.mark.parametrize("suffix", FORMS)
def test_a_report_appears_whole_or_not_at_all(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / "new" / f"readiness{suffix}"
    write_report(document(row()), path)
    first = path.read_bytes()
    assert os.listdir(path.parent) == [path.name]
    broken = document(row())
    broken["rows"] = [{"id": object()}]
    with pytest.raises((TypeError, KeyError)):
        write_report(broken, path)
    assert path.read_bytes() == first
    assert os.listdir(path.parent) == [path.name]


def test_another_suffix_is_refused_by_naming_the_three(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"\.html, \.json, \.md"):
        write_report(document(row()), tmp_path / "report.pdf")


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(ReportError, match="cannot be written"):
        write_report(document(row()), tmp_path / "file" / "readiness.json")
    (tmp_path / "r.json").mkdir()
    with pytest.raises(ReportError, match="cannot be written"):
        write_report(document(row()), tmp_path / "r.json")
    assert sorted(os.listdir(tmp_path)) == ["file", "r.json"]


def test_rendering_again_takes_the_verdict_as_it_stands(tmp_path: Path) -> None:
    one = document(row("A-01", State.FAILED, message="no"))
    one["verdict"], one["because"] = "GO", "somebody said so"
    write_report(one, tmp_path / "r.json")
    for suffix in FORMS:
        render(tmp_path / "r.json", tmp_path / f"again{suffix}")
    assert "somebody said so" in (tmp_path / "again.html").read_text(encoding="utf-8")
    assert load_document(tmp_path / "again.json") == one
