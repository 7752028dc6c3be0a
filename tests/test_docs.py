"""Every code block of the README and the docs runs, and prints what the page says.

Blocks of a page run in order and share their names. What the tests look at:

- ```` ```python ````: runs; in ``>>>`` form it is a doctest.
- ```` ```text ```` (or ``output``) right below a Python block: what that block prints.
- ```` ```console ````: lines ``$ symgrad ...`` run, with their output below them.

Integers and words are compared exactly; numbers with a point or an exponent to nine digits,
so that another processor's last digit is no failure. An HTML comment above the output loosens
the comparison and can be seen in the source only:

- ``<!-- output: approx 1e-3 -->``: this tolerance, relative or absolute, for such numbers.
- ``<!-- output: timing -->``: numbers of any value, in lines with a unit of time (or ``x``).
- ``<!-- output: shown -->``: not compared, for what differs by machine as a whole.

``<!-- skip: next -->`` leaves a block out, ``<!-- skip: next if(missing("jax")) -->`` where a
module is not installed; ``...`` stands for any text.
"""

from __future__ import annotations

import contextlib
import difflib
import doctest
import io
import math
import re
import shlex
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from unittest import SkipTest

import pytest
from sybil import Document, Example, Region
from sybil.parsers.markdown import CodeBlockParser, PythonCodeBlockParser, SkipParser
from sybil.parsers.markdown.lexers import FencedCodeBlockLexer

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
#: Pages that take more than a few seconds.
SLOW = {"bicycle.md"}
#: The pages that describe the house.
HOUSE = [
    ROOT / "docs" / "CONTRIBUTING.md",
    ROOT / "docs" / "architecture.md",
    ROOT / "docs" / "packages.md",
    *sorted((ROOT / "docs" / "design").glob("*.md")),
]
FENCED = re.compile(r"^ *(```+|~~~+).*?^ *\1", re.MULTILINE | re.DOTALL)

DIRECTIVE = re.compile(r"<!--\s*output:\s*(approx|timing|shown)\s*(\S*)\s*-->")
COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")
TIMED = re.compile(r"\d\s*(?:ns|[uµμ]s|ms|s|min|x|×)\b|\b(?:seconds|time)\b")


# ---------------------------------------------------------------- comparing output


def same_number(shown: str, printed: str, tolerance: float) -> bool:
    if shown == printed:
        return True
    if not re.search(r"[.eE]", shown + printed):
        return False
    absolute = tolerance if tolerance > 1e-9 else 0.0
    return math.isclose(float(shown), float(printed), rel_tol=tolerance, abs_tol=absolute)


def same_line(shown: str, printed: str, mode: str, tolerance: float) -> bool:
    shown, printed = shown.rstrip(), printed.rstrip()
    if shown == printed:
        return True
    timed = mode == "timing" and TIMED.search(shown)
    if timed:  # columns shift with the numbers' lengths
        shown, printed = " ".join(shown.split()), " ".join(printed.split())
    pattern = NUMBER.sub("\0", shown)
    if "..." in pattern:
        words = r"[-\d.eE+]*".join(map(re.escape, pattern.split("\0")))
        return re.fullmatch(words.replace(re.escape("..."), ".*?"), printed) is not None
    if pattern != NUMBER.sub("\0", printed):
        return False
    pairs = zip(NUMBER.findall(shown), NUMBER.findall(printed), strict=True)
    return all(timed or same_number(a, b, tolerance) for a, b in pairs)


def compare(shown: str, printed: str, directive: str = "", option: str = "") -> str | None:
    """Return what is wrong with the printed text, or None."""
    if directive == "shown":
        return None
    tolerance = float(option) if directive == "approx" else 1e-9
    want, got = shown.rstrip().splitlines(), printed.rstrip().splitlines()
    if len(want) == len(got) and all(
        same_line(a, b, directive, tolerance) for a, b in zip(want, got, strict=True)
    ):
        return None
    return "\n".join(difflib.unified_diff(want, got, "in the page", "printed", lineterm=""))


# ---------------------------------------------------------------- running a page


class Page:
    """The state of one page: its namespace and what the last block printed."""

    def __init__(self, path: Path) -> None:
        self.printed = ""
        self.end = 0  # where the block that printed it ends
        # A module, so that classes and functions of the page know where they are from.
        self.module = ModuleType(f"page_{path.stem.replace('-', '_')}")
        python = PythonCodeBlockParser(
            doctest_optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
        )
        python.codeblock_parser = CodeBlockParser("python", self.run_python)
        console = CodeBlockParser("console", self.run_console)
        parsers = (SkipParser(), python, console, self.parse_output)
        self.document = Document.parse(str(path), *parsers)
        self.document.namespace = vars(self.module)
        self.document.namespace["missing"] = lambda name: find_spec(name) is None

    def run(self) -> None:
        sys.modules[self.module.__name__] = self.module
        try:
            for example in self.document.examples():
                with contextlib.suppress(SkipTest):  # a block, not the page
                    example.evaluate()
        finally:
            del sys.modules[self.module.__name__]

    def run_python(self, example: Example) -> None:
        # Padded, so that a traceback names the line of the page.
        source = "\n" * (example.line + example.parsed.line_offset) + example.parsed
        code = compile(source, example.path, "exec", dont_inherit=True)
        with contextlib.redirect_stdout(io.StringIO()) as out:
            exec(code, example.namespace)
        self.printed, self.end = out.getvalue(), example.end

    def run_console(self, example: Example) -> str | None:
        # The command has its own tests; a session in the docs is for the reader's eye and
        # has to stay true, so it runs here, in this process (importing takes seconds).
        from symgrad.cli import main

        directive, option = self.directive(example)
        for command, shown in sessions(example.parsed):
            out = io.StringIO()
            with contextlib.redirect_stdout(out), contextlib.suppress(SystemExit):
                main(shlex.split(command)[1:])
            wrong = compare(shown, out.getvalue(), directive, option)
            if wrong:
                return f"$ {command}\n{wrong}"
        return None

    def parse_output(self, document: Document) -> Iterator[Region]:
        for lexed in FencedCodeBlockLexer(language="text|output")(document):
            yield Region(lexed.start, lexed.end, lexed.lexemes["source"], self.check_output)

    def check_output(self, example: Example) -> str | None:
        between = self.document.text[self.end : example.start]
        if not self.end or COMMENT.sub("", between).strip():
            return None  # text of its own, not the output of a block
        directive, option = self.directive(example)
        return compare(str(example.parsed), self.printed, directive, option)

    def directive(self, example: Example) -> tuple[str, str]:
        """Return the directive in the comments right above a block."""
        above = re.search(r"(?:<!--(?:(?!-->).)*-->\s*)*\Z", self.document.text[: example.start])
        found = DIRECTIVE.search(above.group()) if above else None
        return (found[1], found[2]) if found else ("", "")


def sessions(text: str) -> Iterator[tuple[str, str]]:
    """Split a console block into ``symgrad`` commands and what they print."""
    for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        command, _, shown = part.partition("\n")
        if command.startswith("symgrad"):
            yield command, shown


def test_the_index_lists_every_chapter() -> None:
    design = ROOT / "docs" / "design"
    index = (design / "index.md").read_text(encoding="utf-8")
    chapters = [path.name for path in sorted(design.glob("*.md")) if path.name != "index.md"]
    assert [name for name in chapters if f"]({name})" not in index] == []


def anchors(text: str) -> set[str]:
    """Return the names by which GitHub and MyST link to the headings of a page."""
    found = re.findall(r"^#+ (.*)$", FENCED.sub("", text), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in found}


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_lead_somewhere(path: Path) -> None:
    text = FENCED.sub("", path.read_text(encoding="utf-8"))
    dead = []
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        name, _, anchor = target.partition("#")
        page = (path.parent / name).resolve() if name else path
        if not re.match(r"[a-z]+:", target) and not (
            page.exists() and (not anchor or anchor in anchors(page.read_text(encoding="utf-8")))
        ):
            dead.append(target)
    assert dead == []


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_the_installation_is_described_in_one_place(path: Path) -> None:
    """Other pages link to it; it changes with the first release."""
    assert not re.search(r"pip install ['\"]?symgrad", path.read_text(encoding="utf-8"))


@pytest.mark.parametrize("path", HOUSE, ids=lambda path: path.stem)
def test_files_that_are_named_are_there(path: Path) -> None:
    """What describes the house names its files in backticks, from the top of the repository."""
    text = path.read_text(encoding="utf-8")
    named = re.findall(r"`((?:symgrad|tests|examples|docs)/[\w./-]*\w)/?`", text)
    commands = re.findall(r"\bpython ((?:examples|docs|tests)/[\w./-]+)", text)
    assert [name for name in (*named, *commands) if not (ROOT / name).exists()] == []


@pytest.mark.parametrize("path", [
    pytest.param(path, marks=[pytest.mark.slow] if path.name in SLOW else [])
    for path in PAGES
], ids=lambda path: str(path.relative_to(ROOT)))  # fmt: skip
@pytest.mark.quick(3)
def test_page(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # what a page saves goes there
    Page(path).run()


# ---------------------------------------------------------------- the comparison itself


@pytest.mark.parametrize(
    ("shown", "printed", "directive", "option"),
    [
        ("a = 1\n", "a = 1", "", ""),
        ("0.1 + 2", "0.10000000000000002 + 2", "", ""),
        ("[1.5 2. ]", "[1.5 2. ]", "", ""),
        ("max 0.73 ulp", "max 0.71 ulp", "approx", "0.1"),
        ("compiled in 1.2 s", "compiled in 31 s", "timing", ""),
        ("sin   12 ns   3x", "sin    8 ns  10x", "timing", ""),
        ("<object at ...>", "<object at 0x7f>", "", ""),
        ("anything", "else", "shown", ""),
    ],
)
def test_same(shown: str, printed: str, directive: str, option: str) -> None:
    assert compare(shown, printed, directive, option) is None


@pytest.mark.parametrize(
    ("shown", "printed", "directive", "option"),
    [
        ("a = 1", "a = 2", "", ""),
        ("a = 1", "b = 1", "", ""),
        ("1.0001", "1.0002", "", ""),
        ("one\ntwo", "one", "", ""),
        ("", "printed", "", ""),
        ("3 problems in 1.2 s\n27", "3 problems in 5 s\n26", "timing", ""),
        ("max 0.73 ulp", "max 7.3 ulp", "approx", "0.1"),
    ],
)
def test_different(shown: str, printed: str, directive: str, option: str) -> None:
    assert compare(shown, printed, directive, option) is not None


def test_page_that_lies(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "```python\nx = 2\n```\n\n```python\nprint(x + 1)\n```\nprints\n```text\nprose\n```\n"
        "```python\nprint(x)\n```\n<!-- output: approx 1e-3 -->\n\n```text\n3\n```\n"
    )
    with pytest.raises(AssertionError, match=r"line 17(.|\n)*-3\n\+2"):
        Page(page).run()
