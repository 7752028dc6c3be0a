"""Measured figures of the docs say when, at which commit, where and by which command.

The age of a stamp is counted to the day of the commit that is checked out, not to today: what
passes now passes for that commit for ever, and a source archive without history has no age.
"""

from __future__ import annotations

import datetime as dt
import importlib.util
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

import symgrad as sg

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
#: Days after which figures are measured again.
OLD = dt.timedelta(days=60)
#: Pages whose rows have stamps in a column, which other tests read, and pages without figures.
OTHERS = {
    "docs/downstream.md",  # tests/test_docs_downstream.py
    "docs/versions.md",  # tests/test_docs_versions.py
    "docs/ops.md",  # names of the units that functions take
    "docs/command-line.md",  # sessions that tests/test_docs.py runs
}
#: Pages that a script measures and writes: one stamp for all of their rows.
MADE = {"docs/accuracy.md", "docs/reliability.md", "docs/rewrites.md"}
FENCE = re.compile(r"^( *)(```+)(\w*)\n(.*?)^\1\2 *$", re.MULTILINE | re.DOTALL)
TABLE = re.compile(r"(?:^\|.*\n)+", re.MULTILINE)
TIME = re.compile(r"(?:\d\s*|[(|,]\s*|\s{2,}|\bin )(?:ns|us|µs|ms|s|min|cycles)\b")
COMMAND = re.compile(r"`python (?:examples|docs)/[^`]*`|<!-- measured: (?!machine)\w+ -->")


def script() -> ModuleType:
    """Return the module that writes stamps."""
    path = ROOT / "examples" / "benchmarks" / "stamps.py"
    spec = importlib.util.spec_from_file_location("stamps_of_figures", path)
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


stamps = script()


def shown(text: str) -> Iterator[tuple[int, int, str]]:
    """Yield begin, end and text of the tables and outputs that no test compares."""
    run = 0
    for found in FENCE.finditer(text):
        if found[3] in ("python", "console"):
            run = found.end()
        elif found[3] in ("text", "output"):
            between = re.sub(r"<!--.*?-->", "", text[run : found.start()], flags=re.DOTALL)
            if not run or between.strip():
                yield found.start(), found.end(), found[4]
    prose = FENCE.sub(lambda m: re.sub(r"[^\n]", " ", m[0]), text)
    for found in TABLE.finditer(prose):
        yield found.start(), found.end(), found[0]


def measured(text: str) -> Iterator[tuple[int, int]]:
    """Yield begin and end of the blocks that are measured.

    Those are blocks of times, and what stands below a paragraph that names a script.
    """
    for begin, end, block in shown(text):
        above = text[:begin].rstrip().rpartition("\n\n")[2]
        numbers = len(re.findall(r"\d", block)) > 8
        if numbers and (len(TIME.findall(block)) > 1 or COMMAND.search(above)):
            yield begin, end


def without_stamp(text: str) -> list[str]:
    """Return the first line of each measured block without a stamp behind it, in its section."""
    found = []
    for begin, end in measured(text):
        below = re.split(r"^#|<!-- end -->", text[end:], maxsplit=1, flags=re.MULTILINE)[0]
        following = next(iter(shown(below)), None)
        if not stamps.FORM.search(below[: following[0]] if following else below):
            found.append(text[begin:end].splitlines()[0])
    return found


def day_of_the_commit() -> dt.date:
    """Return the day of the commit that is checked out."""
    command = ["git", "-C", str(ROOT), "log", "-1", "--format=%cs"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError:
        pytest.skip("there is no git")
    if done.returncode or not (ROOT / ".git").exists():
        pytest.skip("not a checkout")
    return dt.date.fromisoformat(done.stdout.strip())


def outdated(text: str, today: dt.date, version: str) -> list[str]:
    """Return the command for each stamp that is too old, or of another minor version."""
    minor = ".".join(version.split(".")[:2])
    return [
        f"measured on {found['day']} with symgrad {found['version']}; run: {found['command']}"
        for found in stamps.FORM.finditer(text)
        if today - dt.date.fromisoformat(found["day"]) > OLD or found["version"] != minor
    ]


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_measured_blocks_have_stamps(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    name = path.relative_to(ROOT).as_posix()
    if name in MADE:
        assert stamps.kept(text) is not None
    elif name not in OTHERS:
        assert without_stamp(text) == []


def test_no_figure_is_old() -> None:
    today = day_of_the_commit()
    late = {
        path.relative_to(ROOT).as_posix(): commands
        for path in PAGES
        if (commands := outdated(path.read_text(encoding="utf-8"), today, sg.__version__))
    }
    assert late == {}, "measure again, or take the figures out"


def test_a_stamp_is_what_the_script_writes() -> None:
    found = stamps.FORM.fullmatch(stamps.stamp(["examples/benchmarks/threads.py", "--only", "a b"]))
    if stamps.commit() != "unknown":
        assert found["command"] == "python examples/benchmarks/threads.py --only 'a b'"
        assert not outdated(found[0], dt.date.fromisoformat(found["day"]), sg.__version__)


def test_an_old_stamp_names_its_command() -> None:
    old = stamps.line("2026-01-01", "abcdef0", "0.1.0", "a machine", "python a.py")
    assert outdated(old, dt.date(2026, 3, 2), "0.1.3") == []
    assert "run: python a.py" in outdated(old, dt.date(2026, 3, 3), "0.1.3")[0]
    assert "run: python a.py" in outdated(old, dt.date(2026, 1, 1), "0.2.0")[0]


def test_a_block_without_a_stamp_is_found() -> None:
    table = "\n| a | b |\n| --- | --- |\n| 10 us | 12 ms |\n| 1.0 us | 3.25 s |\n"
    old = stamps.line("2026-01-01", "abcdef0", "0.1.0", "a machine", "python a.py")
    assert len(without_stamp(table)) == 1
    assert without_stamp(f"{table}\n{old}\n") == []
    assert len(without_stamp(f"{table}\n## Next\n\n{old}\n")) == 1
    assert len(without_stamp(f"{table}\nthen\n{table}\n{old}\n")) == 1
    printed = "```python\nprint(1)\n```\n```text\n10 us 12 ms 1234\n```\n"
    assert without_stamp(printed) == []
